// The part of QueueState for limits on hand-outs: see HandOutLimits.

#include "engine/state/queue_state.h"

namespace wq {
namespace {

// Its closed() has changed, or may have.
void SettleTurns(const Group& group) {
  for (GroupTurn* turn = group.turns; turn != nullptr; turn = turn->next) {
    turn->lane->Settle(turn);
  }
}

}  // namespace

// Makes orders by group of those that are not, as soon as a group may be closed.
void QueueState::OrderByGroup() {
  if (by_group_ || !limits_.by_group()) {
    return;
  }
  by_group_ = true;
  for (std::unique_ptr<OrderPolicy>& order : orders_) {
    std::unique_ptr<OrderPolicy> by_group = MakeOrder(rules_, by_group_);
    by_group->TakeOver(order.get());
    order = std::move(by_group);
  }
}

// The item was handed out.
void QueueState::BeginTurn(const Item& item, Time now) {
  if (limits_.Begin(limits_.all(), now)) {
    PutLimits(limits_.all(), now);
  }
  if (item.group != nullptr) {
    if (limits_.Begin(item.group, now)) {
      PutLimits(item.group, now);
    }
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
void QueueState::EndWait(Group* group, Time now) {
  const bool is_full = group->flow->wakes_at_us == 0;
  if (is_full && !group->flow->own) {
    PutLimits(group, now);
  }
  SettleTurns(*group);
  if (group->flow->waited) {
    ++readied_;
  }
  if (!limits_.IsAll(group)) {
    groups_.DropIfUnused(group);
  }
}

void QueueState::SetLimits(std::string_view name, const std::optional<GroupLimits>& limits,
                           Time now) noexcept {
  const bool first = !limits_.any() && limits.has_value() && HandOutLimits::Bounds(*limits);
  if (first && processing_ > 0) {
    items_.ForEach([this](const Item& item) {
      if (item.processing()) {
        limits_.Adopt(limits_.all());
        if (item.group != nullptr) {
          limits_.Adopt(item.group);
        }
      }
    });
  }
  Group* const group = name.empty() ? limits_.all() : groups_.FindOrInsert(name);
  limits_.Set(group, limits, now);
  OrderByGroup();
  PutLimits(group, now);
  SettleTurns(*group);
  readied_ += queued_;
  if (!limits_.IsAll(group)) {
    groups_.DropIfUnused(group);
  }
}

GroupStatus QueueState::StatusOf(std::string_view name, int64_t steady_us) const {
  const Group* const group = name.empty() ? limits_.all() : groups_.Find(name);
  GroupStatus status;
  if (group == nullptr) {
    status.limits = limits_.of_groups();
    return status;
  }
  status.limits = limits_.LimitsOf(*group);
  if (const GroupFlow* const flow = group->flow.get(); flow != nullptr) {
    status.own_limits = flow->own;
    status.processing = flow->processing;
    status.held_back = group->closed();
    if (flow->out_of_tokens) {
      status.next_in = std::chrono::microseconds(flow->wakes_at_us - steady_us);
    }
  }
  return status;
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
