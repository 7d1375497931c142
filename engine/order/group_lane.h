// GroupLane: the queued items of one lane, by group. Within a group it is first in, first out.
// Among the groups that are open (Group::closed), those that came first are first, or they take
// turns.
//
// Turns: each group has a time, which grows by 1 with each of its items that is popped. The group
// with the least time is next, and of equal ones the one that waits longest. A group that comes
// begins at the time of the last group that was popped plus 1; one that was closed goes on there at
// the latest. So this is round robin.
//
// All calls are O(log groups) at most, and PutBack as that of ItemList. Thread-compatible: guarded
// by its queue's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "engine/order/item.h"
#include "engine/order/item_list.h"

namespace wq {

// The items of one group in one lane. Borrowed by the group while it has some.
struct GroupTurn {
  ItemList items;
  Group* group = nullptr;  // Null: the keys without a group.
  class GroupLane* lane = nullptr;
  GroupTurn* prev = nullptr;  // The turns of the group in other lanes: Group::turns.
  GroupTurn* next = nullptr;
  uint64_t time = 0;    // If the groups take turns.
  int64_t since = 0;    // The order of equal times.
  bool ranked = false;  // Its group is open.
};

class GroupLane {
 public:
  // `fair`: the groups take turns.
  explicit GroupLane(bool fair) : fair_(fair) {}
  ~GroupLane();
  GroupLane(const GroupLane&) = delete;
  GroupLane& operator=(const GroupLane&) = delete;

  // The item to pop next; nullptr: no group that has items is open.
  Item* front() const {
    return ranked_.empty() ? nullptr : std::get<GroupTurn*>(*ranked_.begin())->items.front();
  }
  size_t size() const { return size_; }
  size_t open_size() const { return open_; }  // Without those of closed groups.
  void PushBack(Item* item);
  void PutBack(Item* item);  // If the groups take turns, its group is next.
  void Remove(Item* item);
  void PopFront();  // REQUIRES: front() is not nullptr.

  // The group of the turn, which is of this lane, was opened or closed.
  void Settle(GroupTurn* turn);

  // Calls visit with the item that came first among those of all groups, if there is one.
  void ForEachFront(const std::function<void(const Item&)>& visit) const;

  // The items in the order of PopFront, as if all groups were open.
  class Walk;

 private:
  // Its first part: the time, or the sequence of the first item.
  using Rank = std::tuple<uint64_t, int64_t, GroupTurn*>;
  Rank RankOf(GroupTurn* turn) const;
  GroupTurn* TurnOf(const Item& item);
  static void Unlink(GroupTurn* turn);
  // Before and after a change of what RankOf reads, or of the group.
  void Unrank(GroupTurn* turn);
  void Rerank(GroupTurn* turn);
  void LeaveAge(GroupTurn* turn);
  void EnterAge(GroupTurn* turn);
  // Of a turn that is not ranked.
  void Take(GroupTurn* turn, Item* item);

  const bool fair_;
  absl::flat_hash_map<const Group*, std::unique_ptr<GroupTurn>> turns_;  // With items.
  using Ranks = absl::btree_set<Rank>;
  Ranks ranked_;  // The turns of open groups.
  Ranks closed_;  // Those of the others.
  // If the groups take turns: all turns by the sequence of their first item.
  absl::btree_set<std::pair<uint64_t, GroupTurn*>> by_age_;
  size_t size_ = 0;
  size_t open_ = 0;    // Items of the turns in ranked_.
  uint64_t time_ = 0;  // Of the last turn that was popped.
  int64_t last_ = 0;   // The largest `since`; their negatives are of turns that were put back.
};

// As ItemList::Walk. Groups are begun one after the other, so the first item costs no more than the
// next ones, however many groups there are.
class GroupLane::Walk {
 public:
  explicit Walk(const GroupLane& lane) : lane_(&lane), last_(lane.last_) {}

  const Item* Next();
  void Leave(const Item& item);

 private:
  using Place = std::tuple<uint64_t, int64_t, const Item*>;  // As Rank.
  struct Begun {
    ItemList::Walk items;
    Place next;
  };
  // The first turn behind *from that is not begun; nullptr: there is none. Moves *from up to it.
  GroupTurn* NextTurn(const Ranks& ranks, Rank* from) const;
  const Item* BeginGroup(GroupTurn* turn, Rank* from);
  void SetNext(Begun* group, uint64_t time, int64_t since);

  const GroupLane* lane_;
  Rank open_from_{0, INT64_MIN, nullptr};
  Rank closed_from_{0, INT64_MIN, nullptr};
  absl::btree_map<const Group*, Begun> begun_;  // (A hash table would grow all at once.)
  absl::btree_set<Place> round_;  // The next item of each begun group that has one left.
  int64_t last_;
};

}  // namespace wq
