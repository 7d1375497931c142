#include "engine/order/group_lane.h"

#include <algorithm>
#include <queue>
#include <vector>

namespace wq {

GroupLane::~GroupLane() {
  for (auto& [_, turn] : turns_) {
    Unlink(turn.get());
  }
}

void GroupLane::Unlink(GroupTurn* turn) {
  if (turn->group == nullptr) {
    return;
  }
  (turn->prev == nullptr ? turn->group->turns : turn->prev->next) = turn->next;
  if (turn->next != nullptr) {
    turn->next->prev = turn->prev;
  }
}

std::pair<uint64_t, int64_t> GroupLane::PlaceOf(const Item& item) const {
  if (!to_front_.empty()) {
    if (const auto it = to_front_.find(&item); it != to_front_.end()) {
      return {0, it->second};
    }
  }
  return {item.sequence, 0};
}

GroupLane::Rank GroupLane::RankOf(GroupTurn* turn) const {
  const auto [time, since] =
      fair_ ? std::pair(turn->time, turn->since) : PlaceOf(*turn->items.front());
  return {time, since, turn};
}

GroupTurn* GroupLane::TurnOf(const Item& item) {
  std::unique_ptr<GroupTurn>& turn = turns_[item.group];
  if (turn == nullptr) {
    turn = std::make_unique<GroupTurn>();
    turn->group = item.group;
    turn->order = order_;
    turn->lane = lane_;
    turn->time = time_ + 1;
    turn->since = ++last_;
    if (item.group != nullptr) {
      turn->next = item.group->turns;
      if (turn->next != nullptr) {
        turn->next->prev = turn.get();
      }
      item.group->turns = turn.get();
    }
  }
  return turn.get();
}

void GroupLane::Leave(GroupTurn* turn) {
  if (turn->ranked) {
    ranked_.erase(RankOf(turn));
    turn->ranked = false;
    open_ -= turn->items.size();
  } else {
    closed_.erase(RankOf(turn));
  }
}

void GroupLane::Enter(GroupTurn* turn) {
  if (turn->group != nullptr && turn->group->closed()) {
    closed_.insert(RankOf(turn));
  } else {
    ranked_.insert(RankOf(turn));
    turn->ranked = true;
    open_ += turn->items.size();
  }
}

void GroupLane::Unrank(GroupTurn* turn) {
  if (turn->items.size() == 0) {
    return;
  }
  Leave(turn);
  if (fair_) {
    by_age_.erase({turn->items.front()->sequence, turn});
  }
}

void GroupLane::Rerank(GroupTurn* turn) {
  Enter(turn);
  if (fair_) {
    by_age_.emplace(turn->items.front()->sequence, turn);
  }
}

void GroupLane::Settle(GroupTurn* turn) {
  const bool was_open = turn->ranked;
  Leave(turn);
  if (!was_open) {
    turn->time = std::max(turn->time, time_);
  }
  Enter(turn);
}

void GroupLane::PushBack(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  turn->items.PushBack(item);
  ++size_;
  if (turn->items.size() == 1) {
    Rerank(turn);
  } else if (turn->ranked) {
    ++open_;
  }
}

void GroupLane::PushFront(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  Unrank(turn);
  turn->items.PushFront(item);
  ++size_;
  ++last_;
  if (fair_) {
    turn->time = ranked_.empty() ? time_ : std::min(time_, std::get<0>(*ranked_.begin()));
    turn->since = -last_;
  } else {
    to_front_.emplace(item, -last_);
  }
  Rerank(turn);
}

void GroupLane::Remove(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  Unrank(turn);
  Take(turn, item);
}

void GroupLane::Take(GroupTurn* turn, Item* item) {
  turn->items.Remove(item);
  --size_;
  if (!to_front_.empty()) {
    to_front_.erase(item);
  }
  if (turn->items.size() == 0) {
    Unlink(turn);
    turns_.erase(turn->group);
  } else {
    Rerank(turn);
  }
}

void GroupLane::PopFront() {
  GroupTurn* const turn = std::get<GroupTurn*>(*ranked_.begin());
  Unrank(turn);
  time_ = std::max(time_, turn->time);
  ++turn->time;
  turn->since = ++last_;
  Take(turn, turn->items.front());
}

const Item& GroupLane::Oldest() const {
  if (fair_) {
    return *by_age_.begin()->second->items.front();
  }
  const Item* oldest = nullptr;
  for (const Ranks* const ranks : {&ranked_, &closed_}) {
    if (!ranks->empty()) {
      const Item* const item = std::get<GroupTurn*>(*ranks->begin())->items.front();
      oldest = oldest == nullptr || item->sequence < oldest->sequence ? item : oldest;
    }
  }
  return *oldest;
}

bool GroupLane::ForEach(const std::function<bool(const Item&)>& visit) const {
  using Place = std::tuple<uint64_t, int64_t, const Item*>;
  // The next item of each group that has begun. The others are begun by their ranks.
  std::priority_queue<Place, std::vector<Place>, std::greater<>> round;
  auto open = ranked_.begin();
  auto closed = closed_.begin();
  int64_t last = last_;
  const auto place_of = [](const Rank& rank) {
    const auto& [time, since, turn] = rank;
    return Place(time, since, turn->items.front());
  };
  for (;;) {
    const bool is_open = closed == closed_.end() || (open != ranked_.end() && *open < *closed);
    const auto end = is_open ? ranked_.end() : closed_.end();
    auto& begun = is_open ? open : closed;
    Place next;
    if (begun != end && (round.empty() || place_of(*begun) < round.top())) {
      next = place_of(*begun++);
    } else if (!round.empty()) {
      next = round.top();
      round.pop();
    } else {
      return true;
    }
    const Item& item = *std::get<const Item*>(next);
    if (!visit(item)) {
      return false;
    }
    if (item.next != nullptr) {
      const auto [time, since] =
          fair_ ? std::pair(std::get<0>(next) + 1, ++last) : PlaceOf(*item.next);
      round.emplace(time, since, item.next);
    }
  }
}

}  // namespace wq
