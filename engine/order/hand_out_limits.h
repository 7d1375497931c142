// HandOutLimits: which groups of a queue are closed by their limits, and until when. The queue as a
// whole is one more group, all().
//
// A group is closed while as many of its keys are processing as its limits allow, or until its
// bucket has a token. It is woken twice: when there is a token again, and when its bucket is full;
// from then on the bucket is nothing to know. The buckets are memory: a restart begins with full
// ones.
//
// Pure. Thread-compatible: guarded by its queue's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "engine/order/item.h"
#include "wq/clock.h"
#include "wq/options.h"

namespace wq {

class HandOutLimits {
 public:
  // The limits of the queue, and of each group. REQUIRES: InRange.
  HandOutLimits(const GroupLimits& of_queue, const GroupLimits& of_groups);
  HandOutLimits(const HandOutLimits&) = delete;
  HandOutLimits& operator=(const HandOutLimits&) = delete;

  // Whether the limits may close a group.
  static bool Bounds(const GroupLimits& limits) {
    return limits.max_processing > 0 || limits.rate.per_second > 0;
  }

  Group* all() { return &all_; }
  const Group* all() const { return &all_; }
  bool IsAll(const Group* group) const { return group == &all_; }

  // Whether there are limits that bound something. Otherwise the calls below are not needed, until
  // Set.
  bool any() const { return any_; }
  // Whether there is a rate, so that Begin and Wake need the time.
  bool rated() const { return rated_; }
  // Whether a group may be closed. Then the order must be by group.
  bool by_group() const { return by_group_; }

  // A key of the group was handed out.
  void Begin(Group* group, Time now);
  // A key of the group is no longer processing.
  void End(Group* group) const;
  // A key of the group is processing that was handed out when there were no limits.
  void Adopt(Group* group);

  // From now on these limits count. SettleAfter is then to be called for all(), and for each group
  // that has a flow.
  void Set(const GroupLimits& of_queue, const GroupLimits& of_groups);
  // `before`: the rate that counted for the group until Set.
  void SettleAfter(Group* group, const Rate& before, Time now);
  const GroupLimits& LimitsOf(const Group* group) const {
    return IsAll(group) ? of_queue_ : of_groups_;
  }
  const GroupLimits& of_groups() const { return of_groups_; }

  // When a group is to be woken next; nullopt: never.
  std::optional<int64_t> NextWakeUs() const;
  // Wakes the next group whose time has come. nullptr: there is none. If wakes_at_us of the result
  // is 0, its bucket is full. `any_queued`: the queue has keys to hand out.
  Group* Wake(int64_t steady_us, bool any_queued);

 private:
  GroupFlow& FlowOf(Group* group);
  void Settle(Group* group, int64_t now_us);
  void WakeAt(Group* group, int64_t steady_us);

  GroupLimits of_queue_;
  GroupLimits of_groups_;
  bool any_ = false;
  bool rated_ = false;
  bool by_group_ = false;
  Group all_;
  absl::btree_set<std::pair<int64_t, Group*>> waiting_;  // By GroupFlow::wakes_at_us.
};

}  // namespace wq
