// Oracle: what the replicas of a store have reported (failover_child.cc), and whether it may be so.
//
//   Oracle oracle;
//   oracle.Take("a g 7 1000 1010 a-7-1");
//   bool in_time = oracle.Await(10s, [](const Oracle::Seen& seen) { return seen.hand_outs > 0; });
//   std::vector<std::string> wrong = oracle.Verdict();
//
// What must hold:
//   - a key that was acknowledged is handed out at least once, or is in the store at the end;
//   - an epoch has one owner, and hands a key out at most once;
//   - no hand-out of an epoch begins after the first one of a later epoch: so not two at once;
//   - a key whose Done was flushed to the log is not handed out in a later epoch;
//   - an epoch begins with a cursor that is not older than what any former one has flushed.
//
// Threading: thread-safe. Lifetime: of one test. A crash: does not concern it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace wq::failover {

class Oracle {
 public:
  struct Epoch {
    std::string owner;
    int64_t first_after_us = INT64_MAX;  // When the first hand-out returned.
    int64_t last_before_us = INT64_MIN;  // When the last one was asked for.
    uint64_t hand_outs = 0;
    // Of the cursor: as it was read at the begin, and the last one that was flushed to the log.
    std::optional<std::pair<uint64_t, uint64_t>> cursor_read = std::nullopt;
    std::pair<uint64_t, uint64_t> cursor = {0, 0};
  };
  struct Seen {
    std::map<uint64_t, Epoch> epochs;  // Those that have begun or handed out.
    uint64_t acknowledged = 0;         // Keys.
    uint64_t hand_outs = 0;
    uint64_t repeated = 0;  // Hand-outs of keys that were handed out before.
    uint64_t unseen = 0;    // Acknowledged keys that were not handed out yet.
    uint64_t flushed = 0;   // Keys whose Done was flushed.
    uint64_t modes = 0;     // How often a replica has changed what it does.

    uint64_t LastEpoch() const { return epochs.empty() ? 0 : epochs.rbegin()->first; }
    const std::string& Owner() const { return epochs.rbegin()->second.owner; }
    // When an epoch after `epoch` handed out its first key; INT64_MAX: none has.
    int64_t NextHandOutUs(uint64_t epoch) const;
  };

  // One line of a replica.
  void Take(std::string_view line) WQ_EXCLUDES(mu_);
  // Waits until `true_now`; false if it is not within `patience`.
  bool Await(std::chrono::milliseconds patience, const std::function<bool(const Seen&)>& true_now)
      WQ_EXCLUDES(mu_);
  Seen Now() const WQ_EXCLUDES(mu_);
  // What must not be so: at most some of it.
  std::vector<std::string> Verdict() const WQ_EXCLUDES(mu_);
  // Acknowledged keys that were never handed out.
  std::set<std::string> Unseen() const WQ_EXCLUDES(mu_);

 private:
  struct Key {
    bool acknowledged = false;
    uint64_t handed_out = 0;  // The last epoch that handed it out; 0: none.
    uint64_t flushed = 0;     // The epoch that flushed its Done.
  };

  void Begin(const std::string& owner, uint64_t epoch) WQ_REQUIRES(mu_);
  void HandOut(const std::string& owner, uint64_t epoch, int64_t before_us, int64_t after_us,
               const std::string& key) WQ_REQUIRES(mu_);
  void Wrong(std::string what) WQ_REQUIRES(mu_);

  mutable Mutex mu_;
  CondVar cv_;
  Seen seen_ WQ_GUARDED_BY(mu_);
  std::unordered_map<std::string, Key> keys_ WQ_GUARDED_BY(mu_);
  std::vector<std::string> wrong_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq::failover
