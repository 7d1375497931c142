// OrderPolicy: in which order a queue hands out. The items that it holds are the queued ones.
//
// Thread-compatible: lives under its queue's lock. Push, Pop, Touch and Remove cost the same however many
// items are held (they may grow with the number of lanes).
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
  // Puts the item at the back of its lane. REQUIRES: HasLane(item->lane), and it is not held.
  virtual void Push(Item* item) = 0;
  // Takes out the item to hand out next; nullptr if there is none.
  virtual Item* Pop() = 0;
  // Takes out this one. REQUIRES: it is held.
  virtual void Remove(Item* item) = 0;
  // A held item was added again, to `lane`. Moves it to the back of that lane and sets item->lane if
  // the policy says so; returns whether it did. REQUIRES: HasLane(lane).
  virtual bool Touch(Item* item, Lane lane) = 0;
  virtual size_t Len() const = 0;
  // Calls visit for each lane that holds an item, highest first.
  virtual void ForEachLane(const std::function<void(Lane, size_t)>& visit) const = 0;
  // Calls visit for the first item of each lane, or group, that holds one.
  virtual void ForEachFront(const std::function<void(const Item&)>& visit) const = 0;
  // Calls visit for the items in the order of Pop, until it returns false.
  virtual void ForEach(const std::function<bool(const Item&)>& visit) const = 0;
};

// REQUIRES: the options were checked; see CheckOrder.
std::unique_ptr<OrderPolicy> MakeOrder(const QueueOptions& options);

// What is wrong with the options that concern the order; nullptr if nothing is.
const char* CheckOrder(const QueueOptions& options);

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

// Lanes: the highest that holds an item is served, each first in, first out. With one lane it is a
// plain FIFO, with every integer a lane it is a priority queue.
class LaneOrder final : public OrderPolicy {
 public:
  struct Config {
    std::vector<Lane> lanes = {};  // The lanes that there are.
    bool any_lane = false;         // Every lane; `lanes` does not count.
    ReAdd re_add = ReAdd::kSetsLane;
    uint32_t starvation_bound = 0;
  };
  explicit LaneOrder(const Config& config);

  bool HasLane(Lane lane) const override;
  void Push(Item* item) override;
  Item* Pop() override;
  void Remove(Item* item) override;
  bool Touch(Item* item, Lane lane) override;
  size_t Len() const override { return len_; }
  void ForEachLane(const std::function<void(Lane, size_t)>& visit) const override;
  void ForEachFront(const std::function<void(const Item&)>& visit) const override;
  void ForEach(const std::function<bool(const Item&)>& visit) const override;

 private:
  using Lanes = std::map<Lane, ItemList, std::greater<>>;
  Lanes::iterator NextLane();
  void Take(Lanes::iterator lane, Item* item);

  const bool any_lane_;
  const ReAdd re_add_;
  const uint32_t starvation_bound_;
  Lanes lanes_;          // Highest first. Of any_lane_, those that hold an item; else all.
  size_t len_ = 0;       // Items in all of them.
  uint32_t passed_ = 0;  // Hand-outs in a row that passed by a lower lane with items.
};

// Round robin over the groups that hold an item; first in, first out within a group.
class FairOrder final : public OrderPolicy {
 public:
  bool HasLane(Lane lane) const override { return lane == kFastLane; }
  void Push(Item* item) override;
  Item* Pop() override;
  void Remove(Item* item) override;
  bool Touch(Item* /*item*/, Lane /*lane*/) override { return false; }
  size_t Len() const override { return len_; }
  void ForEachLane(const std::function<void(Lane, size_t)>& visit) const override;
  void ForEachFront(const std::function<void(const Item&)>& visit) const override;
  void ForEach(const std::function<bool(const Item&)>& visit) const override;

 private:
  // A group that holds an item. The ring is a list: its front is served, then goes to the back.
  struct Turn {
    ItemList items;
    Turn* prev = nullptr;
    Turn* next = nullptr;
  };
  void Append(Turn* turn);
  void Unlink(Turn* turn);
  void Take(Turn* turn, Item* item);

  std::unordered_map<const Group*, Turn> turns_;  // By group; nullptr is the empty one.
  Turn* front_ = nullptr;
  Turn* back_ = nullptr;
  size_t len_ = 0;  // Items of all groups.
};

}  // namespace wq
