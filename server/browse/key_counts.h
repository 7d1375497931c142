// KeyCounts: keys counted by lane, group or shard.
//
// Memory: bounded: kMaxNames names are told apart, those that come first in the scan; the keys of
// further ones count as others. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "server/browse/key_filter.h"
#include "wq/queue.h"
#include "wq/status.h"
#include "wq/v1/browse.pb.h"

namespace wq {

class KeyCounts {
 public:
  static constexpr size_t kMaxNames = 100'000;

  // InvalidArgument: the message names the field.
  Status Begin(const v1::CountByRequest& request);
  void Visit(const KeyInfo& key);
  void End(v1::CountByResponse* response);

 private:
  std::string NameOf(const KeyInfo& key) const;

  KeyFilter filter_;
  v1::CountByRequest::By by_ = v1::CountByRequest::LANE;
  size_t limit_ = 0;
  std::unordered_map<std::string, v1::CountByResponse::Row> rows_;
  uint64_t others_ = 0;
};

}  // namespace wq
