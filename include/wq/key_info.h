// KeyInfo: all that a queue in memory knows of one key. Queue::Scan and Queue::Inspect show it.
//
//   uint64_t stuck = 0;
//   wq::Status s = queue->Scan([&](const wq::KeyInfo& key) {
//     stuck += key.processing && key.added_at_us < long_ago_us ? 1 : 0;
//     return true;   // go on
//   });
//
// A key can be in several states at once: processing and delayed, delayed and failing, …
// Times are microseconds since 1970-01-01T00:00:00Z.
// Threading: plain values. Lifetime: the bytes are borrowed, and valid during the call of the
// visitor. A crash: does not concern them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "wq/options.h"

namespace wq {

struct KeyInfo {
  std::string_view key;
  bool queued = false;
  bool processing = false;
  bool delayed = false;
  bool failing = false;  // It has a failure count, and is not quarantined.
  bool quarantined = false;
  bool added_again = false;       // It is processing, and was added since it was handed out.
  Lane lane = kFastLane;          // Of a quarantined key: the one that a release adds it to.
  std::string_view group;         // Empty: none.
  std::optional<uint32_t> shard;  // Only in a queue with shards.
  int64_t added_at_us = 0;        // When it became dirty, or was delayed; 0: neither.
  int64_t ready_at_us = 0;        // When its delay ends; 0: it is not delayed.
  int64_t delay_us = 0;           // As asked for.
  uint64_t failures = 0;          // Since the last Forget.
  int64_t first_failed_at_us = 0;
  int64_t last_failed_at_us = 0;
  std::string_view last_error;
  int64_t quarantined_at_us = 0;
};

// Returns false to stop.
using KeyVisitor = std::function<bool(const KeyInfo&)>;

// What one more failure of a key would do: see Queue::PeekFailure.
struct NextFailure {
  // Until the retry. Unset: not known, as the limiter depends on more than the key, or there is no
  // retry.
  std::optional<std::chrono::microseconds> delay;
  bool quarantines = false;  // The failure puts the key into quarantine.
};

}  // namespace wq
