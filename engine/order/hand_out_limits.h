// HandOutLimits: which groups of a queue are closed by their limits, and until when. The queue as a
// whole is one more group, all().
//
// A group is closed while as many of its keys are processing as its limits allow, or until its
// bucket has a token. It is woken twice: when there is a token again, and when its bucket is full;
// from then on the bucket is nothing to know.
//
// Pure. Thread-compatible: guarded by its queue's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "engine/order/item.h"
#include "wq/clock.h"
#include "wq/options.h"

namespace wq {

class HandOutLimits {
 public:
  // The limits of the queue, and of each group that has none of its own. REQUIRES: InRange.
  HandOutLimits(const GroupLimits& of_queue, const GroupLimits& of_groups);
  HandOutLimits(const HandOutLimits&) = delete;
  HandOutLimits& operator=(const HandOutLimits&) = delete;

  // Whether the limits may close a group. A weight does not.
  static bool Bounds(const GroupLimits& limits) {
    return limits.max_processing > 0 || limits.rate.per_second > 0;
  }

  Group* all() { return &all_; }
  const Group* all() const { return &all_; }
  bool IsAll(const Group* group) const { return group == &all_; }

  // Whether there are limits that bound something. Otherwise the calls below are not needed, until
  // Set or Restore.
  bool any() const { return any_; }
  // Whether there is a rate, so that Begin and Wake need the time.
  bool rated() const { return rated_; }
  // Whether a group may be closed. Then the order must be by group.
  bool by_group() const { return by_group_; }

  // A key of the group was handed out. Returns whether its bucket has changed.
  bool Begin(Group* group, Time now);
  // A key of the group is no longer processing.
  void End(Group* group);
  // A key of the group is processing that was handed out when there were no limits.
  void Adopt(Group* group);

  // Sets the group's own limits; nullopt: it has none of its own any more.
  void Set(Group* group, const std::optional<GroupLimits>& limits, Time now);
  // The same for what a row says. `full_at_us`: when the bucket is full, steady time.
  void Restore(Group* group, const std::optional<GroupLimits>& limits, int64_t full_at_us,
               Time now);
  const GroupLimits& LimitsOf(const Group& group) const {
    return group.flow == nullptr ? Others(&group) : group.flow->limits;
  }
  const GroupLimits& of_groups() const { return of_groups_; }
  // Those that have limits of their own, by name; that of all() is empty.
  using OwnGroups = absl::btree_map<std::string_view, const Group*>;
  const OwnGroups& own_groups() const { return own_groups_; }

  // When a group is to be woken next; nullopt: never.
  std::optional<int64_t> NextWakeUs() const;
  // Wakes the next group whose time has come. nullptr: there is none. If wakes_at_us of the result
  // is 0, its bucket is full. `any_queued`: the queue has keys to hand out.
  Group* Wake(int64_t steady_us, bool any_queued);

  // All groups are gone.
  void Clear() {
    waiting_.clear();
    own_groups_.clear();
    all_.flow = nullptr;
  }

 private:
  GroupFlow& FlowOf(Group* group);
  const GroupLimits& Others(const Group* group) const {
    return IsAll(group) ? of_queue_ : of_groups_;
  }
  void SetOwn(Group* group, bool own);
  void NoteLimits(const Group* group, const GroupLimits& limits);
  void Settle(Group* group, int64_t now_us);
  void WakeAt(Group* group, int64_t steady_us);

  const GroupLimits of_queue_;
  const GroupLimits of_groups_;
  bool any_ = false;
  bool rated_ = false;
  bool by_group_ = false;
  Group all_;
  OwnGroups own_groups_;                                 // The names are views of Group::name.
  absl::btree_set<std::pair<int64_t, Group*>> waiting_;  // By GroupFlow::wakes_at_us.
};

}  // namespace wq
