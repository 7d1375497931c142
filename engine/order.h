// OrderPolicy: in which order a queue hands out. The items that it holds are the queued ones.
//
// Thread-compatible: lives under its queue's lock. Every call is O(1).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "engine/item.h"
#include "wq/options.h"

namespace wq {

class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;

  virtual bool HasLane(Lane lane) const = 0;
  // Puts the item at the back of its lane. REQUIRES: HasLane(item->lane), and it is not held.
  virtual void Push(Item* item) = 0;
  // Takes out the item to hand out next; nullptr if there is none.
  virtual Item* Pop() = 0;
  // Takes out this one. REQUIRES: it is held.
  virtual void Remove(Item* item) = 0;
  // A held item was added again, to `lane`. Moves it to the back of that lane and sets item->lane
  // if the policy says so; returns whether it did. REQUIRES: HasLane(lane).
  virtual bool Touch(Item* item, Lane lane) = 0;
  virtual size_t Len() const = 0;
  // Calls visit for each lane that holds an item, highest first.
  virtual void ForEachLane(const std::function<void(Lane, size_t)>& visit) const = 0;
};

std::unique_ptr<OrderPolicy> MakeOrder(Order order);

// A doubly linked list through Item::prev and next. Owns nothing.
class ItemList {
 public:
  bool empty() const { return front_ == nullptr; }
  size_t size() const { return size_; }
  Item* front() const { return front_; }
  void PushBack(Item* item);
  void Remove(Item* item);

 private:
  Item* front_ = nullptr;
  Item* back_ = nullptr;
  size_t size_ = 0;
};

// A fixed set of lanes; the highest that holds an item is served; each is first in, first out. A
// touched item goes to the lane of its latest Add. With one lane it is a plain FIFO.
class LaneOrder final : public OrderPolicy {
 public:
  // REQUIRES: not empty, strictly descending.
  explicit LaneOrder(const std::vector<Lane>& lanes);

  bool HasLane(Lane lane) const override;
  void Push(Item* item) override;
  Item* Pop() override;
  void Remove(Item* item) override;
  bool Touch(Item* item, Lane lane) override;
  size_t Len() const override { return len_; }
  void ForEachLane(const std::function<void(Lane, size_t)>& visit) const override;

 private:
  struct LaneList {
    Lane lane;
    ItemList items;
  };
  ItemList& List(Lane lane);

  std::vector<LaneList> lanes_;  // Highest first.
  size_t len_ = 0;               // Items in all of them.
};

}  // namespace wq
