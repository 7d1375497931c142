#include "engine/order/order.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

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

bool LaneItems::ForEach(const std::function<bool(const Item&)>& visit) const {
  if (groups_ != nullptr) {
    return groups_->ForEach(visit);
  }
  for (const Item* item = list_.front(); item != nullptr; item = item->next) {
    if (!visit(*item)) {
      return false;
    }
  }
  return true;
}

LaneOrder::LaneOrder(const OrderRules& rules, bool by_group)
    : rules_(rules), by_group_(by_group || rules.fair) {
  for (size_t i = 0; i < rules_.lanes.size() && !rules_.any_lane; ++i) {
    Make(rules_.lanes[i]);
  }
}

bool LaneOrder::HasLane(Lane lane) const {
  return rules_.any_lane || std::any_of(lanes_.begin(), lanes_.end(),
                                        [lane](const Lanes& some) { return some.contains(lane); });
}

std::optional<LaneOrder::Place> LaneOrder::Find(Lane lane) {
  for (const Kind kind : {kOpen, kClosed, kEmpty}) {
    if (const auto at = lanes_[kind].find(lane); at != lanes_[kind].end()) {
      return Place{kind, at};
    }
  }
  return std::nullopt;
}

LaneOrder::Place LaneOrder::Make(Lane lane) {
  const auto at = lanes_[kEmpty].try_emplace(lane).first;
  if (by_group_) {
    at->second.groups_ = std::make_unique<GroupLane>(this, lane, rules_.fair);
  }
  return {kEmpty, at};
}

template <typename Change>
void LaneOrder::ChangeLane(const Place& place, const Change& change) {
  LaneItems& items = place.at->second;
  const size_t len_before = items.size();
  const size_t open_before = items.open_size();
  change(&items);
  len_ += items.size() - len_before;
  open_ += items.open_size() - open_before;
  const Kind kind = items.front() != nullptr ? kOpen : items.size() > 0 ? kClosed : kEmpty;
  if (kind == kEmpty && rules_.any_lane) {
    lanes_[place.kind].erase(place.at);
  } else if (kind != place.kind) {
    lanes_[kind].insert(lanes_[place.kind].extract(place.at));
  }
}

void LaneOrder::Insert(Item* item, bool front) {
  const std::optional<Place> found = Find(item->lane);
  WQ_CHECK(found.has_value() || rules_.any_lane, "an item of a lane that the order does not have");
  ChangeLane(found.has_value() ? *found : Make(item->lane), [=](LaneItems* items) {
    const auto put = [=](auto* to) { front ? to->PushFront(item) : to->PushBack(item); };
    items->groups_ != nullptr ? put(items->groups_.get()) : put(&items->list_);
  });
}

void LaneOrder::Push(Item* item) {
  if (Lanes& open = lanes_[kOpen]; !by_group_) {
    if (const auto lane = open.find(item->lane); lane != open.end()) {
      lane->second.list_.PushBack(item);  // The most frequent case: the lane stays open.
      ++len_;
      ++open_;
      return;
    }
  }
  Insert(item, /*front=*/false);
}

void LaneOrder::PutBack(Item* item) { Insert(item, !WQ_MUTANT(put_back_at_the_end)); }

uint32_t PassedAtStart(uint32_t starvation_bound, int64_t wall_us) {
  const uint64_t mixed = static_cast<uint64_t>(wall_us) * 0x9E3779B97F4A7C15U >> 32;
  return starvation_bound == 0 ? 0 : static_cast<uint32_t>(mixed % starvation_bound);
}

void LaneOrder::BeginRestored(uint32_t passed) {
  if (len_ == 0 || rules_.starvation_bound == 0) {
    return;
  }
  passed_ = WQ_MUTANT(highest_lane_at_each_start) ? 0 : passed;
  const Lanes& open = lanes_[kOpen];
  auto oldest = open.end();
  for (auto it = std::next(open.begin()); it != open.end(); ++it) {
    if (oldest == open.end() || it->second.Oldest().sequence < oldest->second.Oldest().sequence) {
      oldest = it;
    }
  }
  if (oldest != open.end()) {
    turn_ = std::prev(oldest)->first;
  }
}

// The lane to serve next. REQUIRES: one is open.
LaneOrder::Lanes::iterator LaneOrder::NextLane() {
  Lanes& open = lanes_[kOpen];
  const auto highest = open.begin();
  if (rules_.starvation_bound == 0) {
    return highest;
  }
  if (open.size() == 1) {
    // A lower lane that is closed now keeps its turn: or it would have none if it is closed often.
    const Lanes& closed = lanes_[kClosed];
    const bool lower_is_closed = !closed.empty() && closed.begin()->first < highest->first;
    passed_ = lower_is_closed ? passed_ : 0;
    return highest;
  }
  if (passed_ + 1 < rules_.starvation_bound || WQ_MUTANT(starve)) {
    ++passed_;
    return highest;
  }
  passed_ = 0;
  auto lower = open.upper_bound(turn_);
  if (lower == highest || lower == open.end()) {
    lower = std::next(highest);
  }
  turn_ = lower->first;
  return lower;
}

Item* LaneOrder::Pop() {
  if (open_ == 0) {
    return nullptr;
  }
  const auto lane = NextLane();
  Item* item = lane->second.front();
  __builtin_prefetch(item->next);  // Most likely the next to be handed out.
  while (WQ_MUTANT(last_in_first_out) && item->next != nullptr) {
    item = item->next;
  }
  ChangeLane({kOpen, lane}, [item](LaneItems* items) {
    if (items->groups_ == nullptr) {
      items->list_.Remove(item);
    } else if (item == items->groups_->front()) {
      items->groups_->PopFront();
    } else {
      items->groups_->Remove(item);
    }
  });
  return item;
}

void LaneOrder::Remove(Item* item) {
  const std::optional<Place> found = Find(item->lane);
  WQ_CHECK(found.has_value(), "Remove from a lane that the order does not have");
  ChangeLane(*found, [item](LaneItems* items) {
    items->groups_ != nullptr ? items->groups_->Remove(item) : items->list_.Remove(item);
  });
}

void LaneOrder::Settle(GroupTurn* turn) {
  const std::optional<Place> found = Find(turn->lane);
  WQ_CHECK(found.has_value(), "a turn in a lane that the order does not have");
  ChangeLane(*found, [turn](LaneItems* items) { items->groups_->Settle(turn); });
}

bool LaneOrder::ForEachLane(std::optional<Lane> above,
                            const std::function<bool(Lane, const LaneItems&)>& visit) const {
  const auto begin = [&](Kind kind) {
    return above.has_value() ? lanes_[kind].upper_bound(*above) : lanes_[kind].begin();
  };
  auto open = begin(kOpen);
  auto closed = begin(kClosed);
  for (;;) {
    const bool none_closed = closed == lanes_[kClosed].end();
    if (none_closed && open == lanes_[kOpen].end()) {
      return true;
    }
    auto& next =
        none_closed || (open != lanes_[kOpen].end() && open->first > closed->first) ? open : closed;
    if (!visit(next->first, next->second)) {
      return false;
    }
    ++next;
  }
}

// In a lane the items are in the order of their sequences, behind those that were put back, whose
// places have to be told to the new order.
void LaneOrder::TakeOver(LaneOrder* from) {
  from->ForEachLane(std::nullopt, [this](Lane, const LaneItems& items) {
    std::vector<Item*> all;
    size_t in_front = 0;
    for (Item* item = items.list_.front(); item != nullptr; item = item->next) {
      in_front = !all.empty() && all.back()->sequence > item->sequence ? all.size() : in_front;
      all.push_back(item);
    }
    std::for_each(all.begin() + static_cast<ptrdiff_t>(in_front), all.end(),
                  [this](Item* item) { Push(item); });
    while (in_front > 0) {
      PutBack(all[--in_front]);
    }
    return true;
  });
  passed_ = from->passed_;
  turn_ = from->turn_;
}

}  // namespace wq
