// The part of the model for limits on hand-outs.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/model/naive_queue.h"

namespace wq::model {

GroupLimits NaiveQueue::LimitsOf(const std::string& group) const {
  const auto flow = flows_.find(group);
  const GroupLimits& others = group.empty() ? options_.limits : options_.group_limits;
  return flow == flows_.end() ? others : flow->second.own.value_or(others);
}

// Rates of the model have whole periods.
int64_t NaiveQueue::Period(const Rate& rate) { return static_cast<int64_t>(1e6 / rate.per_second); }

uint64_t NaiveQueue::Stride(const std::string& group) const {
  return (uint64_t{1} << 16) / (group.empty() ? 1 : LimitsOf(group).weight);
}

bool NaiveQueue::OutOfTokens(const std::string& group) const {
  const auto flow = flows_.find(group);
  const Rate rate = LimitsOf(group).rate;
  if (flow == flows_.end() || rate.per_second == 0) {
    return false;
  }
  return flow->second.full_at_us - (int64_t{rate.burst} - 1) * Period(rate) > steady_us_;
}

bool NaiveQueue::Closed(const std::string& group) const {
  const uint32_t most = LimitsOf(group).max_processing;
  uint32_t processing = 0;
  for (const auto& [_, key] : keys_) {
    processing += key.processing && (group.empty() || key.group == group) ? 1 : 0;
  }
  return OutOfTokens(group) || (most > 0 && processing >= most);
}

void NaiveQueue::TakeToken(const std::string& group) {
  const Rate rate = LimitsOf(group).rate;
  if (rate.per_second == 0) {
    return;
  }
  Flow& flow = flows_[group];
  const int64_t from_us = steady_us_ - (flow.waited ? Period(rate) : 0);
  flow.waited = false;
  flow.full_at_us = std::max(flow.full_at_us, from_us) + Period(rate);
  // A token that was late is made up: then the bucket may be full at once.
  flow.bucket_at_us = flow.full_at_us > steady_us_ ? wall_us_ + (flow.full_at_us - steady_us_) : 0;
}

void NaiveQueue::SetLimits(const std::string& group, const std::optional<GroupLimits>& limits) {
  Flow& flow = flows_[group];
  const Rate from = LimitsOf(group).rate;
  flow.own = limits;
  const Rate to = LimitsOf(group).rate;
  flow.waited = false;
  if (from.per_second == 0 || to.per_second == 0) {
    flow.full_at_us = 0;
  } else {
    const int64_t missing_us = std::max<int64_t>(0, flow.full_at_us - steady_us_) / Period(from);
    const int64_t rest_us = std::max<int64_t>(0, flow.full_at_us - steady_us_) % Period(from);
    flow.full_at_us =
        steady_us_ + std::min(missing_us * Period(to) + rest_us * Period(to) / Period(from),
                              int64_t{to.burst} * Period(to));
  }
  flow.bucket_at_us = flow.full_at_us > steady_us_ ? wall_us_ + flow.full_at_us - steady_us_ : 0;
}

// What the passing of time does to the buckets.
void NaiveQueue::WakeGroups() {
  for (auto& [group, flow] : flows_) {
    const Rate rate = LimitsOf(group).rate;
    if (rate.per_second == 0) {
      continue;
    }
    const int64_t token_us = flow.full_at_us - (int64_t{rate.burst} - 1) * Period(rate);
    if (token_us > fired_us_ && token_us <= steady_us_) {
      const std::string& name = group;
      flow.waited = std::any_of(keys_.begin(), keys_.end(), [&name](const Entry& entry) {
        return entry.second.queued && (name.empty() || entry.second.group == name);
      });
      for (auto& [turn, value] : turns_) {
        const auto& [shard, lane, of] = turn;
        if (!name.empty() && of == name && !Closed(name)) {
          value.time = std::max(value.time, TimeOf(shard, lane).time);
        }
      }
    }
    if (flow.full_at_us <= steady_us_ && !flow.own) {
      flow.bucket_at_us = 0;
    }
  }
  fired_us_ = steady_us_;
}

// Nothing is known of a group without keys, once its bucket is full.
void NaiveQueue::ForgetGroups() {
  std::erase_if(flows_, [this](const auto& flow) {
    const auto& [name, state] = flow;
    const bool kept = name.empty() || state.own || state.full_at_us > steady_us_;
    return !kept && std::none_of(keys_.begin(), keys_.end(), [&name = name](const Entry& entry) {
      return entry.second.Known() && entry.second.group == name;
    });
  });
}

// What a restart finds in the record.
void NaiveQueue::RecoverFlow(const std::string& group, Flow* flow) {
  const Rate rate = LimitsOf(group).rate;
  flow->waited = false;
  flow->full_at_us = 0;
  if (rate.per_second > 0 && flow->bucket_at_us != 0) {
    flow->full_at_us = std::min(steady_us_ + flow->bucket_at_us - wall_us_,
                                steady_us_ + int64_t{rate.burst} * Period(rate));
  }
  if (flow->full_at_us <= steady_us_ && !flow->own) {
    flow->bucket_at_us = 0;
  }
}

// Makes the change. Groups that it opens have not fallen behind while they were closed.
void NaiveQueue::Reopen(const std::function<void()>& change) {
  std::vector<TurnKey> closed;
  for (const auto& [turn, _] : turns_) {
    if (GroupClosed(std::get<std::string>(turn))) {
      closed.push_back(turn);
    }
  }
  change();
  for (const TurnKey& turn : closed) {
    if (!GroupClosed(std::get<std::string>(turn))) {
      const LaneTime& lane = TimeOf(std::get<0>(turn), std::get<1>(turn));
      turns_[turn].time = std::max(turns_[turn].time, lane.time);
    }
  }
}

}  // namespace wq::model
