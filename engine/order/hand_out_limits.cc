#include "engine/order/hand_out_limits.h"

#include "base/check.h"
#include "base/mutant.h"

namespace wq {
namespace {

bool IsFull(const GroupFlow& flow, uint32_t most) {
  return most > 0 && flow.processing >= most + (WQ_MUTANT(one_too_many) ? 1 : 0);
}

}  // namespace

HandOutLimits::HandOutLimits(const GroupLimits& of_queue, const GroupLimits& of_groups) {
  Set(of_queue, of_groups);
}

GroupFlow& HandOutLimits::FlowOf(Group* group) {
  if (group->flow == nullptr) {
    group->flow = std::make_unique<GroupFlow>();
  }
  return *group->flow;
}

void HandOutLimits::WakeAt(Group* group, int64_t steady_us) {
  GroupFlow& flow = *group->flow;
  if (flow.wakes_at_us != 0) {
    waiting_.erase({flow.wakes_at_us, group});
  }
  flow.wakes_at_us = steady_us;
  if (steady_us != 0) {
    waiting_.emplace(steady_us, group);
  }
}

// Finds whether the group is closed, and when it is to be woken.
void HandOutLimits::Settle(Group* group, int64_t now_us) {
  GroupFlow& flow = *group->flow;
  const GroupLimits& limits = LimitsOf(group);
  flow.full = IsFull(flow, limits.max_processing);
  flow.out_of_tokens = false;
  int64_t wake_us = 0;
  if (limits.rate.per_second > 0) {
    const int64_t token_us = flow.bucket.TokenAtUs(limits.rate);
    flow.out_of_tokens = token_us > now_us;
    wake_us = flow.out_of_tokens ? token_us : flow.bucket.FullAtUs();
  }
  WakeAt(group, wake_us > now_us ? wake_us : 0);
}

void HandOutLimits::Begin(Group* group, Time now) {
  GroupFlow& flow = FlowOf(group);
  const GroupLimits& limits = LimitsOf(group);
  ++flow.processing;
  if (limits.rate.per_second == 0) {
    flow.full = IsFull(flow, limits.max_processing);
    return;
  }
  flow.bucket.Take(limits.rate, now.steady_us, std::exchange(flow.waited, false));
  Settle(group, now.steady_us);
}

void HandOutLimits::End(Group* group) const {
  GroupFlow& flow = *group->flow;
  WQ_CHECK(flow.processing > 0, "a group without a processing key");
  --flow.processing;
  flow.full = IsFull(flow, LimitsOf(group).max_processing);
}

void HandOutLimits::Adopt(Group* group) { ++FlowOf(group).processing; }

void HandOutLimits::Set(const GroupLimits& of_queue, const GroupLimits& of_groups) {
  of_queue_ = of_queue;
  of_groups_ = of_groups;
  for (const GroupLimits* const limits : {&of_queue_, &of_groups_}) {
    any_ = any_ || Bounds(*limits);
    rated_ = rated_ || limits->rate.per_second > 0;
  }
  by_group_ = by_group_ || Bounds(of_groups_);
}

void HandOutLimits::SettleAfter(Group* group, const Rate& before, Time now) {
  GroupFlow& flow = FlowOf(group);
  flow.bucket.Change(before, LimitsOf(group).rate, now.steady_us);
  flow.waited = false;
  Settle(group, now.steady_us);
}

std::optional<int64_t> HandOutLimits::NextWakeUs() const {
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.begin()->first);
}

Group* HandOutLimits::Wake(int64_t steady_us, bool any_queued) {
  if (waiting_.empty() || waiting_.begin()->first > steady_us) {
    return nullptr;
  }
  Group* const group = waiting_.begin()->second;
  const bool had_none = group->flow->out_of_tokens;
  Settle(group, steady_us);
  if (had_none) {
    group->flow->waited = IsAll(group) ? any_queued : group->turns != nullptr;
  }
  return group;
}

}  // namespace wq
