#include "engine/order/order.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace wq {

const char* CheckOrder(const QueueOptions& options) {
  switch (options.order) {
    case Order::kFifo:
    case Order::kTwoLanes:
    case Order::kLanes:
    case Order::kPriorities:
    case Order::kFair:
      return options.starvation_bound == 1 ? "a starvation bound of 1 never serves the highest lane"
                                           : nullptr;
  }
  return "there is no such order";
}

OrderRules RulesOf(const QueueOptions& options) {
  WQ_CHECK(CheckOrder(options) == nullptr, "the order options were not checked");
  OrderRules rules{.lanes = {kFastLane},
                   .any_lane = options.order == Order::kPriorities,
                   .re_add = options.re_add,
                   .starvation_bound = options.starvation_bound,
                   .fair = options.order == Order::kFair};
  if (options.order == Order::kTwoLanes) {
    rules.lanes.push_back(kSlowLane);
  } else if (options.order == Order::kLanes || options.order == Order::kFair) {
    rules.lanes.insert(rules.lanes.end(), options.lanes.begin(), options.lanes.end());
  }
  return rules;
}

std::unique_ptr<OrderPolicy> MakeOrder(const OrderRules& rules, bool by_group) {
  if (by_group || rules.fair) {
    return std::make_unique<LaneOrder<GroupLane>>(rules);
  }
  return std::make_unique<LaneOrder<ItemList>>(rules);
}

// --- LaneWalk ---

template <typename Items>
class LaneOrder<Items>::LaneWalk final : public OrderWalk {
 public:
  explicit LaneWalk(const LaneOrder* order) : order_(order) { order_->walks_.push_back(this); }
  ~LaneWalk() override { Stop(); }
  LaneWalk(const LaneWalk&) = delete;
  LaneWalk& operator=(const LaneWalk&) = delete;

  const Item* Next() override {
    for (;;) {
      if (items_ != nullptr) {
        if (const Item* const item = items_->Next(); item != nullptr) {
          return item;
        }
      }
      if (order_ == nullptr || !BeginLaneBelow()) {
        return nullptr;
      }
    }
  }

  bool GoTo(const Place& place, const Item* item) override {
    if constexpr (std::is_same_v<Items, ItemList>) {
      lane_ = place.lane;
      EndLane();
      if (order_ == nullptr) {
        return true;
      }
      if (const auto lane = order_->lanes_.find(place.lane); lane != order_->lanes_.end()) {
        items_ = std::make_unique<typename Items::Walk>(lane->second);
        if (item != nullptr) {
          items_->GoBehind(*item);
        }
      }
      return true;
    } else {
      return false;
    }
  }

  void Leave(const Item& item) {
    if (items_ != nullptr && item.lane == *lane_) {
      items_->Leave(item);
    }
  }
  void LeaveLane(Lane lane) {
    if (lane_ == lane) {
      EndLane();
    }
  }
  void End() {
    order_ = nullptr;
    EndLane();
  }
  void Stop() override {
    if (order_ != nullptr) {
      std::erase(order_->walks_, this);
      End();
    }
  }

 private:
  void EndLane() {
    if (items_ != nullptr) {
      ended_.push_back(std::move(items_));
    }
  }
  bool BeginLaneBelow() {
    const auto& lanes = order_->lanes_;
    const auto next = lane_.has_value() ? lanes.upper_bound(*lane_) : lanes.begin();
    if (next == lanes.end()) {
      return false;
    }
    lane_ = next->first;
    EndLane();
    items_ = std::make_unique<typename Items::Walk>(next->second);
    return true;
  }

  const LaneOrder* order_;                       // Null: it is gone.
  std::optional<Lane> lane_;                     // The present one; unset before the first.
  std::unique_ptr<typename Items::Walk> items_;  // Null: the lane has ended.
  std::vector<std::unique_ptr<typename Items::Walk>> ended_;  // To be freed without the lock.
};

// --- LaneOrder ---

template <typename Items>
LaneOrder<Items>::LaneOrder(const OrderRules& rules) : rules_(rules) {
  for (size_t i = 0; i < rules_.lanes.size() && !rules_.any_lane; ++i) {
    Make(rules_.lanes[i]);
  }
}

template <typename Items>
typename LaneOrder<Items>::Lanes::iterator LaneOrder<Items>::Make(Lane lane) {
  if constexpr (std::is_same_v<Items, GroupLane>) {
    return lanes_.try_emplace(lane, rules_.fair).first;
  } else {
    return lanes_.try_emplace(lane).first;
  }
}

template <typename Items>
bool LaneOrder<Items>::HasLane(Lane lane) const {
  return rules_.any_lane || lanes_.contains(lane);
}

template <typename Items>
Items& LaneOrder<Items>::ItemsOf(const Item& item) {
  const auto lane = rules_.any_lane ? Make(item.lane) : lanes_.find(item.lane);
  WQ_CHECK(lane != lanes_.end(), "Push to a lane that the order does not have");
  return lane->second;
}

template <typename Items>
void LaneOrder<Items>::Push(Item* item) {
  ItemsOf(*item).PushBack(item);
  ++len_;
}

template <typename Items>
void LaneOrder<Items>::PutBack(Item* item) {
  ItemsOf(*item).PutBack(item);
  ++len_;
}

// One item of the lane was taken.
template <typename Items>
void LaneOrder<Items>::Settle(typename Lanes::iterator lane) {
  --len_;
  if (rules_.any_lane && lane->second.size() == 0) {
    for (LaneWalk* const walk : walks_) {
      walk->LeaveLane(lane->first);
    }
    lanes_.erase(lane);
  }
}

// The lane to serve next; end() if all are empty.
template <typename Items>
typename LaneOrder<Items>::Lanes::iterator LaneOrder<Items>::NextLane() {
  const auto holds_items = [](const auto& lane) { return lane.second.front() != nullptr; };
  const auto highest = std::find_if(lanes_.begin(), lanes_.end(), holds_items);
  if (rules_.starvation_bound == 0 || highest == lanes_.end()) {
    return highest;
  }
  // The lower lane whose first item was queued first.
  auto oldest = lanes_.end();
  for (auto lane = std::next(highest); lane != lanes_.end(); ++lane) {
    if (holds_items(*lane) && (oldest == lanes_.end() ||
                               lane->second.front()->sequence < oldest->second.front()->sequence)) {
      oldest = lane;
    }
  }
  if (oldest == lanes_.end()) {
    passed_ = 0;
    return highest;
  }
  if (passed_ + 1 < rules_.starvation_bound || WQ_MUTANT(starve)) {
    ++passed_;
    return highest;
  }
  passed_ = 0;
  return oldest;
}

template <typename Items>
Item* LaneOrder<Items>::Pop() {
  const auto lane = NextLane();
  if (lane == lanes_.end()) {
    return nullptr;
  }
  Item* item = lane->second.front();
  __builtin_prefetch(item->next);  // Most likely the next to be handed out.
  if (!walks_.empty()) {
    LeaveWalks(*item);
  }
  if (WQ_MUTANT(last_in_first_out)) {
    while (item->next != nullptr) {
      item = item->next;
    }
    LeaveWalks(*item);
    lane->second.Remove(item);
  } else {
    lane->second.PopFront();
  }
  Settle(lane);
  return item;
}

template <typename Items>
void LaneOrder<Items>::Remove(Item* item) {
  const auto lane = lanes_.find(item->lane);
  WQ_CHECK(lane != lanes_.end(), "Remove from a lane that the order does not have");
  LeaveWalks(*item);
  lane->second.Remove(item);
  Settle(lane);
}

template <typename Items>
bool LaneOrder<Items>::Moves(const Item& item, Lane lane) const {
  return lane > item.lane || (lane < item.lane && rules_.re_add == ReAdd::kSetsLane);
}

template <typename Items>
size_t LaneOrder<Items>::OpenLen() const {
  size_t open = 0;
  for (const auto& [_, items] : lanes_) {
    open += items.open_size();
  }
  return open;
}

template <typename Items>
void LaneOrder<Items>::ForEachLane(const std::function<void(Lane, size_t)>& visit) const {
  for (const auto& [lane, items] : lanes_) {
    if (items.size() > 0) {
      visit(lane, items.size());
    }
  }
}

template <typename Items>
void LaneOrder<Items>::ForEachFront(const std::function<void(const Item&)>& visit) const {
  for (const auto& [_, items] : lanes_) {
    items.ForEachFront(visit);
  }
}

template <typename Items>
void LaneOrder<Items>::TakeOver(OrderPolicy* from) {
  const uint32_t passed = from->Passed();  // Pop changes it.
  while (Item* const item = from->Pop()) {
    Push(item);
  }
  passed_ = passed;
}

template <typename Items>
LaneOrder<Items>::~LaneOrder() {
  LaneOrder::EndWalks();
}

template <typename Items>
void LaneOrder<Items>::EndWalks() {
  for (LaneWalk* const walk : walks_) {
    walk->End();
  }
  walks_.clear();
}

template <typename Items>
void LaneOrder<Items>::LeaveWalks(const Item& item) {
  for (LaneWalk* const walk : walks_) {
    walk->Leave(item);
  }
}

template <typename Items>
std::unique_ptr<OrderWalk> LaneOrder<Items>::Walk() const {
  return std::make_unique<LaneWalk>(this);
}

template class LaneOrder<ItemList>;
template class LaneOrder<GroupLane>;

}  // namespace wq
