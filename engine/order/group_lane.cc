#include "engine/order/group_lane.h"

#include <algorithm>

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

GroupLane::Rank GroupLane::RankOf(GroupTurn* turn) const {
  return fair_ ? Rank(turn->time, turn->since, turn) : Rank(turn->items.front()->sequence, 0, turn);
}

GroupTurn* GroupLane::TurnOf(const Item& item) {
  std::unique_ptr<GroupTurn>& turn = turns_[item.group];
  if (turn == nullptr) {
    turn = std::make_unique<GroupTurn>();
    turn->group = item.group;
    turn->lane = this;
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

void GroupLane::Unrank(GroupTurn* turn) {
  if (turn->ranked) {
    ranked_.erase(RankOf(turn));
    turn->ranked = false;
    open_ -= turn->items.size();
  } else if (turn->items.size() > 0) {
    closed_.erase(RankOf(turn));
  }
}

// Before and after a change of the turn's first item.
void GroupLane::LeaveAge(GroupTurn* turn) {
  if (fair_ && turn->items.size() > 0) {
    by_age_.erase({turn->items.front()->sequence, turn});
  }
}

void GroupLane::EnterAge(GroupTurn* turn) {
  if (fair_) {
    by_age_.emplace(turn->items.front()->sequence, turn);
  }
}

void GroupLane::Rerank(GroupTurn* turn) {
  if (turn->items.size() == 0) {
    return;
  }
  if (turn->group != nullptr && turn->group->closed()) {
    closed_.insert(RankOf(turn));
  } else {
    ranked_.insert(RankOf(turn));
    turn->ranked = true;
    open_ += turn->items.size();
  }
}

void GroupLane::Settle(GroupTurn* turn) {
  const bool was_open = turn->ranked;
  Unrank(turn);
  if (!was_open) {
    turn->time = std::max(turn->time, time_);
  }
  Rerank(turn);
}

void GroupLane::PushBack(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  turn->items.PushBack(item);
  ++size_;
  if (turn->ranked) {
    ++open_;
  } else if (turn->items.size() == 1) {
    EnterAge(turn);
    Rerank(turn);
  }
}

void GroupLane::PutBack(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  Unrank(turn);
  turn->time = ranked_.empty() ? time_ : std::min(time_, std::get<0>(*ranked_.begin()));
  turn->since = -++last_;
  LeaveAge(turn);
  turn->items.PutBack(item);
  EnterAge(turn);
  ++size_;
  Rerank(turn);
}

void GroupLane::Remove(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  Unrank(turn);
  Take(turn, item);
}

void GroupLane::Take(GroupTurn* turn, Item* item) {
  LeaveAge(turn);
  turn->items.Remove(item);
  --size_;
  if (turn->items.size() == 0) {
    Unlink(turn);
    turns_.erase(turn->group);
  } else {
    EnterAge(turn);
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

void GroupLane::ForEachFront(const std::function<void(const Item&)>& visit) const {
  const Item* first = nullptr;
  const auto note = [&first](const GroupTurn* turn) {
    const Item* const item = turn->items.front();
    first = first == nullptr || item->sequence < first->sequence ? item : first;
  };
  if (!by_age_.empty()) {
    note(by_age_.begin()->second);
  }
  for (const Ranks* const ranks : {&ranked_, &closed_}) {
    if (!fair_ && !ranks->empty()) {
      note(std::get<GroupTurn*>(*ranks->begin()));
    }
  }
  if (first != nullptr) {
    visit(*first);
  }
}

GroupTurn* GroupLane::Walk::NextTurn(const Ranks& ranks, Rank* from) const {
  for (auto it = ranks.upper_bound(*from); it != ranks.end(); ++it) {
    GroupTurn* const turn = std::get<GroupTurn*>(*it);
    if (!begun_.contains(turn->group)) {
      return turn;
    }
    *from = *it;
  }
  return nullptr;
}

// The next of the group's items has its place. Of groups that take turns: at `time`, and after
// those of the same time whose `since` is less.
void GroupLane::Walk::SetNext(Begun* group, uint64_t time, int64_t since) {
  const Item* const item = group->items.Next();
  group->next = {time, since, item};
  if (item != nullptr) {
    if (!lane_->fair_) {
      group->next = {item->sequence, 0, item};
    }
    round_.insert(group->next);
  }
}

const Item* GroupLane::Walk::BeginGroup(GroupTurn* turn, Rank* from) {
  *from = lane_->RankOf(turn);
  Begun& group =
      begun_.try_emplace(turn->group, Begun{ItemList::Walk(turn->items), {}}).first->second;
  const Item* const item = group.items.Next();
  SetNext(&group, std::get<0>(*from) + 1, ++last_);
  return item;
}

const Item* GroupLane::Walk::Next() {
  const auto before = [](const auto& a, const auto& b) {
    return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
  };
  GroupTurn* turn = NextTurn(lane_->ranked_, &open_from_);
  Rank* from = &open_from_;
  if (GroupTurn* const closed = NextTurn(lane_->closed_, &closed_from_);
      closed != nullptr &&
      (turn == nullptr || before(lane_->RankOf(closed), lane_->RankOf(turn)))) {
    turn = closed;
    from = &closed_from_;
  }
  if (round_.empty()) {
    return turn == nullptr ? nullptr : BeginGroup(turn, from);
  }
  const Place next = *round_.begin();
  if (turn != nullptr && before(lane_->RankOf(turn), next)) {
    return BeginGroup(turn, from);
  }
  round_.erase(round_.begin());
  const Item* const item = std::get<const Item*>(next);
  SetNext(&begun_.find(item->group)->second, std::get<0>(next) + 1, ++last_);
  return item;
}

void GroupLane::Walk::Leave(const Item& item) {
  const auto it = begun_.find(item.group);
  if (it == begun_.end()) {
    return;
  }
  Begun& group = it->second;
  group.items.Leave(item);
  if (std::get<const Item*>(group.next) == &item) {
    round_.erase(group.next);
    SetNext(&group, std::get<0>(group.next), std::get<1>(group.next));
  }
}

}  // namespace wq
