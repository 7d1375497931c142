// OrderPolicy: the order in which a queue hands out its keys. It holds the queued items.
//
// Push, Pop, Touch and Remove are O(1) in the number of items (not in that of lanes).
// Thread-compatible: guarded by its queue's lock.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "engine/state/item.h"
#include "wq/options.h"

namespace wq {

class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;

  virtual bool HasLane(Lane lane) const = 0;
  // Puts the item at the back of its lane. REQUIRES: HasLane(item->lane); the item is not in the
  // order.
  virtual void Push(Item* item) = 0;
  // Puts the item into its lane, by its sequence: before the items that were queued behind it.
  // REQUIRES: as Push. Costs O(1) if the item is the first or the last of its lane then.
  virtual void Insert(Item* item) = 0;
  // Makes as if the item, which was popped, had not been: at least as Insert.
  virtual void PutBack(Item* item) { Insert(item); }
  // Removes and returns the item to hand out next; nullptr: the order is empty.
  virtual Item* Pop() = 0;
  // REQUIRES: the item is in the order.
  virtual void Remove(Item* item) = 0;
  // For an item of the order whose key was added again, to `lane`: if the policy requires it, moves
  // the item to the back of that lane, sets item->lane and returns true. REQUIRES: HasLane(lane).
  virtual bool Touch(Item* item, Lane lane) = 0;
  virtual size_t Len() const = 0;
  // Calls visit(lane, items) for each lane that is not empty, highest first.
  virtual void ForEachLane(const std::function<void(Lane, size_t)>& visit) const = 0;
  // Calls visit for the first item of each lane, or of each group.
  virtual void ForEachFront(const std::function<void(const Item&)>& visit) const = 0;
  // Calls visit for the items in the order of Pop, until visit returns false.
  virtual void ForEach(const std::function<bool(const Item&)>& visit) const = 0;
};

// REQUIRES: CheckOrder(options) is nullptr.
std::unique_ptr<OrderPolicy> MakeOrder(const QueueOptions& options);

// The error in the options for the order; nullptr: they are valid.
const char* CheckOrder(const QueueOptions& options);

// A doubly linked list through Item::prev and next. The items are borrowed.
class ItemList {
 public:
  bool empty() const { return front_ == nullptr; }
  size_t size() const { return size_; }
  Item* front() const { return front_; }
  void PushBack(Item* item);
  // REQUIRES: the items ascend by sequence.
  void Insert(Item* item);
  void Remove(Item* item);

 private:
  Item* front_ = nullptr;
  Item* back_ = nullptr;
  size_t size_ = 0;
};

// Serves the highest lane that is not empty; each lane is first in, first out. With one lane this
// is a plain FIFO, with every integer a lane it is a priority queue.
class LaneOrder final : public OrderPolicy {
 public:
  struct Config {
    std::vector<Lane> lanes = {};
    bool any_lane = false;  // Every integer is a lane; `lanes` is ignored.
    ReAdd re_add = ReAdd::kSetsLane;
    uint32_t starvation_bound = 0;
    int64_t aging_us = 0;
  };
  explicit LaneOrder(const Config& config);

  bool HasLane(Lane lane) const override;
  void Push(Item* item) override;
  void Insert(Item* item) override;
  Item* Pop() override;
  void Remove(Item* item) override;
  bool Touch(Item* item, Lane lane) override;
  size_t Len() const override { return len_; }
  void ForEachLane(const std::function<void(Lane, size_t)>& visit) const override;
  void ForEachFront(const std::function<void(const Item&)>& visit) const override;
  void ForEach(const std::function<bool(const Item&)>& visit) const override;

 private:
  using Lanes = std::map<Lane, ItemList, std::greater<>>;
  ItemList& ListOf(const Item& item);
  Lanes::iterator NextLane();
  Lanes::iterator NextByAge();
  void Take(Lanes::iterator lane, Item* item);

  const bool any_lane_;
  const ReAdd re_add_;
  const uint32_t starvation_bound_;
  const int64_t aging_us_;
  Lanes lanes_;          // Highest first. If any_lane_, those with items only.
  size_t len_ = 0;       // Items in all lanes.
  uint32_t passed_ = 0;  // Hand-outs in a row during which a lower lane had items.
};

// Round robin over the groups that have items; first in, first out within a group.
class FairOrder final : public OrderPolicy {
 public:
  bool HasLane(Lane lane) const override { return lane == kFastLane; }
  void Push(Item* item) override;
  void Insert(Item* item) override;
  // Serves the item's group next.
  void PutBack(Item* item) override;
  Item* Pop() override;
  void Remove(Item* item) override;
  bool Touch(Item* /*item*/, Lane /*lane*/) override { return false; }
  size_t Len() const override { return len_; }
  void ForEachLane(const std::function<void(Lane, size_t)>& visit) const override;
  void ForEachFront(const std::function<void(const Item&)>& visit) const override;
  void ForEach(const std::function<bool(const Item&)>& visit) const override;

 private:
  // A group that has items. The groups form a list: the front is served, then moves to the back.
  struct Turn {
    ItemList items;
    Turn* prev = nullptr;
    Turn* next = nullptr;
  };
  void Append(Turn* turn);
  void Prepend(Turn* turn);
  void Unlink(Turn* turn);
  void Take(Turn* turn, Item* item);

  std::unordered_map<const Group*, Turn> turns_;  // nullptr: the keys without a group.
  Turn* front_ = nullptr;
  Turn* back_ = nullptr;
  size_t len_ = 0;  // Items of all groups.
};

}  // namespace wq
