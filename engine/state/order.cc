#include "engine/state/order.h"

#include <algorithm>
#include <utility>
#include <vector>

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
      if (options.aging.count() > 0 && options.starvation_bound > 0) {
        return "aging and a starvation bound exclude each other";
      }
      return options.starvation_bound == 1 ? "a starvation bound of 1 never serves the highest lane"
                                           : nullptr;
  }
  return "there is no such order";
}

std::unique_ptr<OrderPolicy> MakeOrder(const QueueOptions& options) {
  WQ_CHECK(CheckOrder(options) == nullptr, "the order options were not checked");
  if (options.order == Order::kFair) {
    return std::make_unique<FairOrder>();
  }
  LaneOrder::Config config{.lanes = {kFastLane},
                           .any_lane = options.order == Order::kPriorities,
                           .re_add = options.re_add,
                           .starvation_bound = options.starvation_bound,
                           .aging_us = options.aging.count()};
  if (options.order == Order::kTwoLanes) {
    config.lanes.push_back(kSlowLane);
  } else if (options.order == Order::kLanes) {
    config.lanes.insert(config.lanes.end(), options.lanes.begin(), options.lanes.end());
  }
  return std::make_unique<LaneOrder>(config);
}

// --- ItemList ---

void ItemList::PushBack(Item* item) {
  item->prev = back_;
  item->next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = item;
  back_ = item;
  ++size_;
}

// From both ends: an item that was popped belongs near the front. If its lane has changed since, it
// may belong near the back.
void ItemList::Insert(Item* item) {
  Item* next = front_;
  Item* prev = back_;
  while (next != nullptr && next->sequence < item->sequence && prev->sequence > item->sequence) {
    next = next->next;
    prev = prev->prev;
  }
  if (next != nullptr && next->sequence < item->sequence) {
    next = prev->next;
  }
  if (next == nullptr || WQ_MUTANT(put_back_at_the_end)) {
    PushBack(item);
    return;
  }
  item->prev = next->prev;
  item->next = next;
  (next->prev == nullptr ? front_ : next->prev->next) = item;
  next->prev = item;
  ++size_;
}

void ItemList::Remove(Item* item) {
  (item->prev == nullptr ? front_ : item->prev->next) = item->next;
  (item->next == nullptr ? back_ : item->next->prev) = item->prev;
  item->prev = nullptr;
  item->next = nullptr;
  --size_;
}

// --- LaneOrder ---

LaneOrder::LaneOrder(const Config& config)
    : any_lane_(config.any_lane),
      re_add_(config.re_add),
      starvation_bound_(config.starvation_bound),
      aging_us_(config.aging_us) {
  if (!any_lane_) {
    for (const Lane lane : config.lanes) {
      lanes_.try_emplace(lane);
    }
  }
}

bool LaneOrder::HasLane(Lane lane) const { return any_lane_ || lanes_.contains(lane); }

ItemList& LaneOrder::ListOf(const Item& item) {
  const auto lane = any_lane_ ? lanes_.try_emplace(item.lane).first : lanes_.find(item.lane);
  WQ_CHECK(lane != lanes_.end(), "Push to a lane that the order does not have");
  return lane->second;
}

void LaneOrder::Push(Item* item) {
  ListOf(*item).PushBack(item);
  ++len_;
}

void LaneOrder::Insert(Item* item) {
  ListOf(*item).Insert(item);
  ++len_;
}

void LaneOrder::Take(Lanes::iterator lane, Item* item) {
  lane->second.Remove(item);
  --len_;
  if (any_lane_ && lane->second.empty()) {
    lanes_.erase(lane);
  }
}

// The lane to serve next; end() if all are empty.
LaneOrder::Lanes::iterator LaneOrder::NextLane() {
  const auto holds_items = [](const auto& lane) { return !lane.second.empty(); };
  const auto highest = std::find_if(lanes_.begin(), lanes_.end(), holds_items);
  if (starvation_bound_ == 0 || highest == lanes_.end()) {
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
  if (passed_ + 1 < starvation_bound_ || WQ_MUTANT(starve)) {
    ++passed_;
    return highest;
  }
  passed_ = 0;
  return oldest;
}

// The lane whose first item is the highest after its wait has raised it; end() if all are empty. As
// time raises all items alike, the result does not depend on the present time.
LaneOrder::Lanes::iterator LaneOrder::NextByAge() {
  auto next = lanes_.end();
  for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
    if (lane->second.empty()) {
      continue;
    }
    if (next == lanes_.end()) {
      next = lane;
      continue;
    }
    const int64_t lanes_below = int64_t{next->first} - lane->first;
    int64_t needed_us = 0;
    int64_t older_us = 0;
    if (!__builtin_mul_overflow(lanes_below, aging_us_, &needed_us) &&
        !__builtin_sub_overflow(next->second.front()->added_at_us,
                                lane->second.front()->added_at_us, &older_us) &&
        older_us >= needed_us) {
      next = lane;
    }
  }
  return next;
}

Item* LaneOrder::Pop() {
  const auto lane = aging_us_ > 0 ? NextByAge() : NextLane();
  if (lane == lanes_.end()) {
    return nullptr;
  }
  Item* item = lane->second.front();
  while (WQ_MUTANT(last_in_first_out) && item->next != nullptr) {
    item = item->next;
  }
  __builtin_prefetch(item->next);  // Most likely the next to be handed out.
  Take(lane, item);
  return item;
}

void LaneOrder::Remove(Item* item) {
  const auto lane = lanes_.find(item->lane);
  WQ_CHECK(lane != lanes_.end(), "Remove from a lane that the order does not have");
  Take(lane, item);
}

bool LaneOrder::Touch(Item* item, Lane lane) {
  if (lane == item->lane || (re_add_ == ReAdd::kRaisesLane && lane < item->lane)) {
    return false;
  }
  Remove(item);
  item->lane = lane;
  Push(item);
  return true;
}

void LaneOrder::ForEachLane(const std::function<void(Lane, size_t)>& visit) const {
  for (const auto& [lane, items] : lanes_) {
    if (!items.empty()) {
      visit(lane, items.size());
    }
  }
}

void LaneOrder::ForEachFront(const std::function<void(const Item&)>& visit) const {
  for (const auto& [_, items] : lanes_) {
    if (!items.empty()) {
      visit(*items.front());
    }
  }
}

void LaneOrder::ForEach(const std::function<bool(const Item&)>& visit) const {
  for (const auto& [_, items] : lanes_) {
    for (const Item* item = items.front(); item != nullptr; item = item->next) {
      if (!visit(*item)) {
        return;
      }
    }
  }
}

// --- FairOrder ---

void FairOrder::Append(Turn* turn) {
  turn->prev = back_;
  turn->next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = turn;
  back_ = turn;
}

void FairOrder::Prepend(Turn* turn) {
  turn->prev = nullptr;
  turn->next = front_;
  (front_ == nullptr ? back_ : front_->prev) = turn;
  front_ = turn;
}

void FairOrder::Unlink(Turn* turn) {
  (turn->prev == nullptr ? front_ : turn->prev->next) = turn->next;
  (turn->next == nullptr ? back_ : turn->next->prev) = turn->prev;
}

void FairOrder::Push(Item* item) {
  Turn& turn = turns_[item->group];
  if (turn.items.empty()) {
    Append(&turn);
  }
  turn.items.PushBack(item);
  ++len_;
}

void FairOrder::Insert(Item* item) {
  Turn& turn = turns_[item->group];
  if (turn.items.empty()) {
    Append(&turn);
  }
  turn.items.Insert(item);
  ++len_;
}

void FairOrder::PutBack(Item* item) {
  Turn& turn = turns_[item->group];
  if (!turn.items.empty()) {
    Unlink(&turn);
  }
  Prepend(&turn);
  turn.items.Insert(item);
  ++len_;
}

void FairOrder::Take(Turn* turn, Item* item) {
  turn->items.Remove(item);
  --len_;
  if (turn->items.empty()) {
    Unlink(turn);
    turns_.erase(item->group);
  }
}

Item* FairOrder::Pop() {
  if (front_ == nullptr) {
    return nullptr;
  }
  Turn* turn = front_;
  Item* item = turn->items.front();
  if (turn->items.size() > 1) {
    Unlink(turn);
    Append(turn);
  }
  Take(turn, item);
  return item;
}

void FairOrder::Remove(Item* item) {
  const auto it = turns_.find(item->group);
  WQ_CHECK(it != turns_.end(), "Remove from a group without items");
  Take(&it->second, item);
}

void FairOrder::ForEachLane(const std::function<void(Lane, size_t)>& visit) const {
  if (len_ > 0) {
    visit(kFastLane, len_);
  }
}

void FairOrder::ForEachFront(const std::function<void(const Item&)>& visit) const {
  for (const Turn* turn = front_; turn != nullptr; turn = turn->next) {
    visit(*turn->items.front());
  }
}

void FairOrder::ForEach(const std::function<bool(const Item&)>& visit) const {
  std::vector<const Item*> round;  // The next item of each group that has one left.
  for (const Turn* turn = front_; turn != nullptr; turn = turn->next) {
    round.push_back(turn->items.front());
  }
  while (!round.empty()) {
    size_t left = 0;
    for (const Item* item : round) {
      if (!visit(*item)) {
        return;
      }
      if (item->next != nullptr) {
        round[left++] = item->next;
      }
    }
    round.resize(left);
  }
}

}  // namespace wq
