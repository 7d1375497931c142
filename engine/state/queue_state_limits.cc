// The part of QueueState for limits on hand-outs: see HandOutLimits.

#include "engine/state/queue_state.h"

namespace wq {
namespace {

// Its closed() has changed, or may have.
void SettleTurns(const Group& group) {
  for (GroupTurn* turn = group.turns; turn != nullptr; turn = turn->next) {
    turn->order->Settle(turn);
  }
}

}  // namespace

// Makes orders by group of those that are not, as soon as a group may be closed.
void QueueState::OrderByGroup() {
  if (by_group_ || !limits_.by_group()) {
    return;
  }
  by_group_ = true;
  for (std::unique_ptr<LaneOrder>& order : orders_) {
    auto by_group = std::make_unique<LaneOrder>(rules_, by_group_);
    by_group->TakeOver(order.get());
    order = std::move(by_group);
  }
}

// The item was handed out.
void QueueState::BeginTurn(const Item& item, Time now) {
  limits_.Begin(limits_.all(), now);
  if (item.group != nullptr) {
    limits_.Begin(item.group, now);
    if (item.group->closed()) {
      SettleTurns(*item.group);
    }
  }
}

void QueueState::EndTurn(const Item& item) {
  const bool all_were_closed = limits_.all()->closed();
  limits_.End(limits_.all());
  const bool all_closed = limits_.all()->closed();
  bool opened = all_were_closed && !all_closed;
  if (Group* const group = item.group; group != nullptr) {
    const bool was_closed = group->closed();
    limits_.End(group);
    if (was_closed && !group->closed()) {
      SettleTurns(*group);
      opened = opened || !all_closed;
    }
  }
  if (opened && queued_ > 0) {
    ++readied_;
  }
}

// HandOutLimits has woken the group.
void QueueState::EndWait(Group* group) {
  SettleTurns(*group);
  if (group->flow->waited) {
    ++readied_;
  }
  if (!limits_.IsAll(group)) {
    groups_.DropIfUnused(group);
  }
}

void QueueState::SetLimits(const GroupLimits& of_queue, const GroupLimits& of_groups,
                           Time now) noexcept {
  const bool had_any = limits_.any();
  const Rate before_of_queue = limits_.LimitsOf(limits_.all()).rate;
  const Rate before_of_groups = limits_.of_groups().rate;
  limits_.Set(of_queue, of_groups);
  if (!had_any && limits_.any()) {
    items_.ForEach([this](const Item& item) {
      if (item.processing()) {
        limits_.Adopt(limits_.all());
        if (item.group != nullptr) {
          limits_.Adopt(item.group);
        }
      }
    });
  }
  OrderByGroup();
  limits_.SettleAfter(limits_.all(), before_of_queue, now);
  groups_.ForEach([&](Group* group) {
    if (group->flow != nullptr) {
      limits_.SettleAfter(group, before_of_groups, now);
      SettleTurns(*group);
    }
  });
  groups_.DropUnused();
  readied_ += queued_;
}

size_t QueueState::Open() const {
  if (paused_) {
    return 0;
  }
  return limits_.any() ? queued_ - HeldBack() : queued_;
}

size_t QueueState::HeldBack() const {
  size_t open = 0;
  for (const auto& order : orders_) {
    open += order->OpenLen();
  }
  return limits_.all()->closed() ? queued_ : queued_ - open;
}

}  // namespace wq
