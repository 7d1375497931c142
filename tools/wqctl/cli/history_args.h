// --history-bytes and --history-age of wqctl serve and wqctl work.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/wqctl/cli/cli.h"
#include "wq/options.h"

namespace wqctl {

inline constexpr size_t kDefaultHistoryBytes = size_t{64} << 20;

struct HistoryArgs {
  std::optional<uint64_t> bytes;
  std::optional<std::chrono::microseconds> age;
};

void AddHistoryOptions(VerbParser* parser, HistoryArgs* args);
void SetHistory(const HistoryArgs& args, wq::StoreOptions* options);

// What the options take; nullopt: anything else.
std::optional<uint64_t> ParseHistoryBytes(std::string_view text);
std::optional<std::chrono::microseconds> ParseHistoryAge(std::string_view text);

}  // namespace wqctl
