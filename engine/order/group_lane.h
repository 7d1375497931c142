// GroupLane: the queued items of one lane, by group. Within a group they are in a row. Among the
// groups that are open (Group::closed), the one whose first item came first is first, or they take
// turns.
//
// Turns: each group has a time, which grows by 1 with each of its items that is popped. The group
// with the least time is next, and of equal ones the one that waits longest. A group that comes
// begins at the time of the last group that was popped plus 1; one that was closed goes on there at
// the latest. So this is round robin.
//
// All calls but ForEach are O(log groups) at most. Thread-compatible: guarded by its queue's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "engine/order/item.h"
#include "engine/order/item_list.h"

namespace wq {

class LaneOrder;

// The items of one group in one lane. Borrowed by the group while it has some.
struct GroupTurn {
  ItemList items;
  Group* group = nullptr;      // Null: the keys without a group.
  LaneOrder* order = nullptr;  // Whose lane this is.
  Lane lane = kFastLane;
  bool ranked = false;        // Its group is open.
  GroupTurn* prev = nullptr;  // The turns of the group in other lanes: Group::turns.
  GroupTurn* next = nullptr;
  uint64_t time = 0;  // If the groups take turns.
  int64_t since = 0;  // The order of equal times.
};

class GroupLane {
 public:
  // `fair`: the groups take turns. `order`: of which this is a lane; borrowed.
  GroupLane(LaneOrder* order, Lane lane, bool fair) : order_(order), lane_(lane), fair_(fair) {}
  ~GroupLane();
  GroupLane(const GroupLane&) = delete;
  GroupLane& operator=(const GroupLane&) = delete;

  // The item to hand out next; nullptr: no group that has items is open.
  Item* front() const {
    return ranked_.empty() ? nullptr : std::get<GroupTurn*>(*ranked_.begin())->items.front();
  }
  size_t size() const { return size_; }
  size_t open_size() const { return open_; }  // Without those of closed groups.
  void PushBack(Item* item);
  void PushFront(Item* item);  // If the groups take turns, its group is next.
  void Remove(Item* item);
  void PopFront();  // REQUIRES: front() is not nullptr.

  // The group of the turn, which is of this lane, was opened or closed.
  void Settle(GroupTurn* turn);

  // The first among the first items of all groups, by their sequences,
  // but for what was put to the front. REQUIRES: size() > 0.
  const Item& Oldest() const;
  // Calls visit for the items in the order of PopFront, as if all groups were open, until it
  // returns false: false then. Item n costs O(log n).
  bool ForEach(const std::function<bool(const Item&)>& visit) const;

 private:
  // Its first two parts are the turn's, or say when the first item came.
  using Rank = std::tuple<uint64_t, int64_t, GroupTurn*>;
  Rank RankOf(GroupTurn* turn) const;
  std::pair<uint64_t, int64_t> PlaceOf(const Item& item) const;
  GroupTurn* TurnOf(const Item& item);
  static void Unlink(GroupTurn* turn);
  // Before and after a change of the group, or of the turn's time.
  void Leave(GroupTurn* turn);
  void Enter(GroupTurn* turn);
  // Before and after a change of the first item.
  void Unrank(GroupTurn* turn);
  void Rerank(GroupTurn* turn);
  // Of a turn that is not ranked.
  void Take(GroupTurn* turn, Item* item);

  LaneOrder* const order_;
  const Lane lane_;
  const bool fair_;
  absl::flat_hash_map<const Group*, std::unique_ptr<GroupTurn>> turns_;  // With items.
  using Ranks = absl::btree_set<Rank>;
  Ranks ranked_;  // The turns of open groups.
  Ranks closed_;  // Those of the others.
  // If the groups take turns: all turns by the sequence of their first item.
  absl::btree_set<std::pair<uint64_t, GroupTurn*>> by_age_;
  // Otherwise: when the items came that were pushed to the front. They come before all others.
  absl::flat_hash_map<const Item*, int64_t> to_front_;
  size_t size_ = 0;
  size_t open_ = 0;    // Items of the turns in ranked_.
  uint64_t time_ = 0;  // Of the last turn that was popped.
  int64_t last_ = 0;   // The largest `since`; their negatives are of what was pushed to the front.
};

}  // namespace wq
