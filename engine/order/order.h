// LaneOrder: the order in which a queue hands out its keys. It holds the queued items.
//
// A set of lanes, each a list, or a list for each group. With one lane this is a plain FIFO, with
// every integer a lane it is a priority queue. The highest lane that has an item to serve is
// served; with a starvation bound the lower ones have their turns.
//
// A call is O(log lanes), and O(log groups) more in an order by group; the readings say what they
// cost. Settle is called once for each lane in which a group has items. Thread-compatible: guarded
// by its queue's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/order/group_lane.h"
#include "engine/order/item.h"
#include "engine/order/item_list.h"
#include "wq/options.h"

namespace wq {

// What an order is made by.
struct OrderRules {
  std::vector<Lane> lanes = {};
  bool any_lane = false;  // Every integer is a lane; `lanes` is ignored.
  ReAdd re_add = ReAdd::kSetsLane;
  uint32_t starvation_bound = 0;
  bool fair = false;  // The groups of a lane take turns.
};

// The error in the options for the order; nullptr: they are valid.
const char* CheckOrder(const QueueOptions& options);

// REQUIRES: CheckOrder(options) is nullptr.
OrderRules RulesOf(const QueueOptions& options);

// How many hand-outs count as made from the highest lane at a start at this time: any number below
// the bound, another one at another time. So however soon a queue is opened again, the highest lane
// has its hand-outs, and the lower ones theirs.
uint32_t PassedAtStart(uint32_t starvation_bound, int64_t wall_us);

// The items of one lane.
class LaneItems {
 public:
  // The item to hand out next; nullptr: there is none, or all are of closed groups.
  Item* front() const { return groups_ == nullptr ? list_.front() : groups_->front(); }
  size_t size() const { return groups_ == nullptr ? list_.size() : groups_->size(); }
  // The one that came first, but for what was put back. REQUIRES: size() > 0.
  const Item& Oldest() const { return groups_ == nullptr ? *list_.front() : groups_->Oldest(); }
  // Calls visit for the items in the order of their hand-outs, as if all groups were open, until it
  // returns false: false then. Item n costs O(log n) at most.
  bool ForEach(const std::function<bool(const Item&)>& visit) const;

 private:
  friend class LaneOrder;
  size_t open_size() const { return groups_ == nullptr ? list_.size() : groups_->open_size(); }

  ItemList list_;
  std::unique_ptr<GroupLane> groups_;  // Null: the items are in list_.
};

class LaneOrder {
 public:
  // `by_group`: groups may be closed. So it is if they take turns.
  LaneOrder(const OrderRules& rules, bool by_group);
  LaneOrder(const LaneOrder&) = delete;
  LaneOrder& operator=(const LaneOrder&) = delete;

  bool HasLane(Lane lane) const;
  // Puts the item at the back of its lane. REQUIRES: HasLane(item->lane); the item is not in the
  // order.
  void Push(Item* item);
  // Puts the item, which was popped, at the front of its lane. REQUIRES: as Push.
  void PutBack(Item* item);
  // Removes and returns the item to hand out next; nullptr: there is none, or all are of groups
  // that are closed.
  Item* Pop();
  // REQUIRES: the item is in the order.
  void Remove(Item* item);
  // Whether an item of the order whose key was added again, to `lane`, moves to the back of that
  // lane. REQUIRES: HasLane(lane).
  bool Moves(const Item& item, Lane lane) const {
    return lane > item.lane || (lane < item.lane && rules_.re_add == ReAdd::kSetsLane);
  }
  // The group of the turn, which is of this order, was opened or closed.
  void Settle(GroupTurn* turn);

  size_t Len() const { return len_; }
  size_t OpenLen() const { return open_; }  // Without the items of closed groups.

  // Calls visit(lane, items) for the lanes that are not empty, highest first, and only for those
  // below `above` if it is set, until it returns false: false then.
  bool ForEachLane(std::optional<Lane> above,
                   const std::function<bool(Lane, const LaneItems&)>& visit) const;

  // The items are those of an earlier process. It is not known which hand-outs came from which
  // lane: as of the starvation bound, `passed` were made from the highest one, and the first lower
  // one is that with the oldest key. O(lanes).
  void BeginRestored(uint32_t passed);

  // Takes all items of `from`, which is of the same rules and not by group, and goes on where it
  // was. O(items).
  void TakeOver(LaneOrder* from);

 private:
  using Lanes = std::map<Lane, LaneItems, std::greater<>>;
  // Each lane is in one of three sets. An empty one is in none if every integer is a lane.
  enum Kind : uint8_t { kOpen, kClosed, kEmpty };  // kClosed: all items are of closed groups.
  struct Place {
    Kind kind = kOpen;
    Lanes::iterator at;
  };
  void Insert(Item* item, bool front);
  std::optional<Place> Find(Lane lane);
  Place Make(Lane lane);
  Lanes::iterator NextLane();
  // Calls change(items) of the lane, and moves it to the set where it belongs then.
  template <typename Change>
  void ChangeLane(const Place& place, const Change& change);

  const OrderRules rules_;
  const bool by_group_;
  std::array<Lanes, 3> lanes_;  // By Kind. Highest first.
  size_t len_ = 0;              // Items in all lanes.
  size_t open_ = 0;             // See OpenLen.
  // Hand-outs from the highest lane while a lower one was open, since that of a lower one, or since
  // no lower one had items.
  uint32_t passed_ = 0;
  Lane turn_ = std::numeric_limits<Lane>::max();  // The last lower lane that was served in between.
};

}  // namespace wq
