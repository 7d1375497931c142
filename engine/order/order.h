// OrderPolicy: the order in which a queue hands out its keys. It holds the queued items.
//
// Push, Pop and Remove are O(1) in the number of items (not in that of lanes), and O(log
// groups) in an order by group. Of an item that was put back they may be O(log items).
// Thread-compatible: guarded by its queue's lock.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/order/group_lane.h"
#include "engine/order/item.h"
#include "engine/order/item_list.h"
#include "wq/options.h"

namespace wq {

// The items of an order as Pop would return them if nothing came: one after the other, while the
// order changes. Items that come are shown or not; those that go are not shown any more.
//
// Next costs O(log items), but for items that have left a group since the walk began. The order
// may be destroyed before its walks: they are at their ends then. Thread-compatible: guarded by the
// queue's lock, but for the destruction after Stop, which may free much memory.
class OrderWalk {
 public:
  virtual ~OrderWalk() = default;

  virtual const Item* Next() = 0;  // nullptr: there is none.
  virtual void Stop() = 0;         // Ends the walk, if it has not ended.

  // Where a walk goes on that another one began: behind the item that had this sequence.
  struct Place {
    Lane lane = kFastLane;
    uint64_t sequence = 0;
  };
  // The next items are those behind `place`; `item` is the one that is there, or nullptr if it has
  // gone: then some in front of the place may come first. False: the place does not say which items
  // are behind it, as groups take turns.
  virtual bool GoTo(const Place& place, const Item* item) = 0;
};

class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;

  virtual bool HasLane(Lane lane) const = 0;
  // Puts the item at the back of its lane. REQUIRES: HasLane(item->lane); the item is not in the
  // order.
  virtual void Push(Item* item) = 0;
  // Makes as if the item, which was popped, had not been: it is in its lane by its sequence, before
  // the items that were queued behind it. REQUIRES: as Push. Costs O(1) if the item is the first or
  // the last of its lane then, otherwise O(log items).
  virtual void PutBack(Item* item) = 0;
  // Removes and returns the item to hand out next; nullptr: there is none, or all are of groups
  // that are closed.
  virtual Item* Pop() = 0;
  // REQUIRES: the item is in the order.
  virtual void Remove(Item* item) = 0;
  // Whether an item of the order whose key was added again, to `lane`, moves to the back of that
  // lane. REQUIRES: HasLane(lane).
  virtual bool Moves(const Item& item, Lane lane) const = 0;
  virtual size_t Len() const = 0;
  virtual size_t OpenLen() const = 0;  // Without the items of closed groups.
  // Calls visit(lane, items) for each lane that is not empty, highest first.
  virtual void ForEachLane(const std::function<void(Lane, size_t)>& visit) const = 0;
  // Calls visit for the first item of each lane: the one that came first.
  virtual void ForEachFront(const std::function<void(const Item&)>& visit) const = 0;
  virtual std::unique_ptr<OrderWalk> Walk() const = 0;
  // Takes all items of `from`, which is of the same rules, and goes on where it was.
  virtual void TakeOver(OrderPolicy* from) = 0;
  // How many hand-outs in a row came from higher lanes while a lower one had items to serve.
  virtual uint32_t Passed() const = 0;
  // All walks are at their ends then.
  virtual void EndWalks() = 0;
};

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

// `by_group`: groups may be closed. So it is if they take turns.
std::unique_ptr<OrderPolicy> MakeOrder(const OrderRules& rules, bool by_group);

// Serves the highest lane that has an item to serve; each lane is first in, first out, if `Items`
// is ItemList, or as GroupLane says. With one lane this is a plain FIFO, with every integer a lane
// it is a priority queue.
template <typename Items>
class LaneOrder final : public OrderPolicy {
 public:
  explicit LaneOrder(const OrderRules& rules);
  ~LaneOrder() override;
  LaneOrder(const LaneOrder&) = delete;
  LaneOrder& operator=(const LaneOrder&) = delete;

  bool HasLane(Lane lane) const override;
  void Push(Item* item) override;
  void PutBack(Item* item) override;
  Item* Pop() override;
  void Remove(Item* item) override;
  bool Moves(const Item& item, Lane lane) const override;
  size_t Len() const override { return len_; }
  size_t OpenLen() const override;
  void ForEachLane(const std::function<void(Lane, size_t)>& visit) const override;
  void ForEachFront(const std::function<void(const Item&)>& visit) const override;
  std::unique_ptr<OrderWalk> Walk() const override;
  void TakeOver(OrderPolicy* from) override;
  uint32_t Passed() const override { return passed_; }
  void EndWalks() override;

 private:
  class LaneWalk;
  using Lanes = std::map<Lane, Items, std::greater<>>;
  typename Lanes::iterator Make(Lane lane);
  Items& ItemsOf(const Item& item);
  typename Lanes::iterator NextLane();
  void Settle(typename Lanes::iterator lane);
  // To be called before the item is removed.
  void LeaveWalks(const Item& item);

  const OrderRules rules_;
  Lanes lanes_;                           // Highest first. If any_lane, those with items only.
  size_t len_ = 0;                        // Items in all lanes.
  uint32_t passed_ = 0;                   // See Passed.
  mutable std::vector<LaneWalk*> walks_;  // That are under way.
};

}  // namespace wq
