#include "engine/order.h"

#include <algorithm>

#include "storage/check.h"

namespace wq {

std::unique_ptr<OrderPolicy> MakeOrder(Order order) {
  switch (order) {
    case Order::kFifo:
      return std::make_unique<LaneOrder>(std::vector<Lane>{kFastLane});
    case Order::kTwoLanes:
      return std::make_unique<LaneOrder>(std::vector<Lane>{kFastLane, kSlowLane});
  }
  return nullptr;
}

void ItemList::PushBack(Item* item) {
  item->prev = back_;
  item->next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = item;
  back_ = item;
  ++size_;
}

void ItemList::Remove(Item* item) {
  (item->prev == nullptr ? front_ : item->prev->next) = item->next;
  (item->next == nullptr ? back_ : item->next->prev) = item->prev;
  item->prev = nullptr;
  item->next = nullptr;
  --size_;
}

LaneOrder::LaneOrder(const std::vector<Lane>& lanes) {
  WQ_CHECK(!lanes.empty(), "an order without a lane");
  WQ_CHECK(std::is_sorted(lanes.begin(), lanes.end(), std::greater_equal<>()),
           "lanes must be strictly descending");
  for (const Lane lane : lanes) {
    lanes_.push_back({lane, {}});
  }
}

bool LaneOrder::HasLane(Lane lane) const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [lane](const LaneList& list) { return list.lane == lane; });
}

ItemList& LaneOrder::List(Lane lane) {
  const auto it = std::find_if(lanes_.begin(), lanes_.end(),
                               [lane](const LaneList& list) { return list.lane == lane; });
  WQ_CHECK(it != lanes_.end(), "a lane that the order does not have");
  return it->items;
}

void LaneOrder::Push(Item* item) {
  List(item->lane).PushBack(item);
  ++len_;
}

Item* LaneOrder::Pop() {
  for (LaneList& list : lanes_) {
    if (!list.items.empty()) {
      Item* item = list.items.front();
      list.items.Remove(item);
      --len_;
      return item;
    }
  }
  return nullptr;
}

void LaneOrder::Remove(Item* item) {
  List(item->lane).Remove(item);
  --len_;
}

bool LaneOrder::Touch(Item* item, Lane lane) {
  if (item->lane == lane) {
    return false;
  }
  List(item->lane).Remove(item);
  item->lane = lane;
  List(lane).PushBack(item);
  return true;
}

void LaneOrder::ForEachLane(const std::function<void(Lane, size_t)>& visit) const {
  for (const LaneList& list : lanes_) {
    if (!list.items.empty()) {
      visit(list.lane, list.items.size());
    }
  }
}

}  // namespace wq
