#include "engine/order/group_lane.h"

#include <algorithm>

#include "base/mutant.h"

namespace wq {
namespace {

// The time that an item of a group of weight 1 takes. The share of a group of weight w is exact to
// w / 65536 of itself (1.5 % for the largest, 1000). A million items a second of one group of
// weight 1 count for nine years.
constexpr uint64_t kStride = uint64_t{1} << 16;

}  // namespace

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

uint64_t GroupLane::Stride(const Group* group) const {
  const uint32_t weight = group == nullptr ? 1 : group->WeightOr(config_.weight);
  return WQ_MUTANT(equal_weights) ? kStride : kStride / weight;
}

GroupLane::Rank GroupLane::RankOf(GroupTurn* turn) const {
  return config_.fair ? Rank(turn->time, turn->since, turn)
                      : Rank(turn->items.front()->sequence, 0, turn);
}

GroupTurn* GroupLane::TurnOf(const Item& item) {
  std::unique_ptr<GroupTurn>& turn = turns_[item.group];
  if (turn == nullptr) {
    turn = std::make_unique<GroupTurn>();
    turn->group = item.group;
    turn->lane = this;
    turn->time = time_ + Stride(item.group);
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
  }
}

void GroupLane::Rerank(GroupTurn* turn) {
  const bool closed = turn->group != nullptr && turn->group->closed();
  if (turn->items.size() > 0 && !closed) {
    ranked_.insert(RankOf(turn));
    turn->ranked = true;
    open_ += turn->items.size();
  }
}

void GroupLane::Settle(GroupTurn* turn) {
  if (!turn->ranked) {
    turn->time = std::max(turn->time, time_);
  }
  Unrank(turn);
  Rerank(turn);
}

void GroupLane::PushBack(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  turn->items.PushBack(item);
  ++size_;
  if (turn->ranked) {
    ++open_;
  } else {
    Rerank(turn);
  }
}

void GroupLane::Insert(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  Unrank(turn);
  turn->items.Insert(item);
  ++size_;
  Rerank(turn);
}

void GroupLane::PutBack(Item* item) {
  GroupTurn* const turn = TurnOf(*item);
  Unrank(turn);
  turn->time = ranked_.empty() ? time_ : std::min(time_, std::get<0>(*ranked_.begin()));
  turn->since = -++last_;
  turn->items.Insert(item);
  ++size_;
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
  turn->time += Stride(turn->group);
  turn->since = ++last_;
  Take(turn, turn->items.front());
}

void GroupLane::ForEachFront(const std::function<void(const Item&)>& visit) const {
  for (const auto& [_, turn] : turns_) {
    visit(*turn->items.front());
  }
}

bool GroupLane::ForEach(const std::function<bool(const Item&)>& visit) const {
  // The next item of each group that has one left, and its rank.
  using Next = std::tuple<uint64_t, int64_t, const Item*>;
  absl::flat_hash_map<const Group*, ItemList::Walk> walks;
  absl::btree_set<Next> round;
  int64_t last = last_;
  for (const auto& [_, turn] : turns_) {
    const Rank rank = RankOf(turn.get());
    const auto walk = walks.try_emplace(turn->group, turn->items).first;
    round.emplace(std::get<0>(rank), std::get<1>(rank), walk->second.Next());
  }
  while (!round.empty()) {
    const auto [rank, _, item] = *round.begin();
    round.erase(round.begin());
    if (!visit(*item)) {
      return false;
    }
    const Item* const next = walks.find(item->group)->second.Next();
    if (next != nullptr && config_.fair) {
      round.emplace(rank + Stride(next->group), ++last, next);
    } else if (next != nullptr) {
      round.emplace(next->sequence, 0, next);
    }
  }
  return true;
}

}  // namespace wq
