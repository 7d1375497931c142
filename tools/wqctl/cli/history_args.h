// --history-bytes and --history-age of wqctl serve and wqctl work.
#pragma once

#include <chrono>
#include <cstdint>

#include "tools/wqctl/cli/cli.h"
#include "wq/options.h"

namespace wqctl {

struct HistoryArgs {
  uint64_t bytes = uint64_t{64} << 20;
  std::chrono::microseconds age{0};
};

void AddHistoryOptions(VerbParser* parser, HistoryArgs* args);
void SetHistory(const HistoryArgs& args, wq::StoreOptions* options);

}  // namespace wqctl
