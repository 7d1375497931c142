// The part of the model for limits on hand-outs.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/model/naive_queue.h"

namespace wq::model {

GroupLimits NaiveQueue::LimitsOf(const std::string& group) const {
  return group.empty() ? of_queue_ : of_groups_;
}

// Rates of the model have whole periods.
int64_t NaiveQueue::Period(const Rate& rate) { return static_cast<int64_t>(1e6 / rate.per_second); }

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
}

void NaiveQueue::SetLimits(const GroupLimits& of_queue, const GroupLimits& of_groups) {
  const Rate from_of_queue = of_queue_.rate;
  const Rate from_of_groups = of_groups_.rate;
  of_queue_ = of_queue;
  of_groups_ = of_groups;
  for (auto& [group, flow] : flows_) {
    const Rate& from = group.empty() ? from_of_queue : from_of_groups;
    const Rate to = LimitsOf(group).rate;
    flow.waited = false;
    if (from.per_second == 0 || to.per_second == 0) {
      flow.full_at_us = 0;
      continue;
    }
    const int64_t missing_us = std::max<int64_t>(0, flow.full_at_us - steady_us_) / Period(from);
    const int64_t rest_us = std::max<int64_t>(0, flow.full_at_us - steady_us_) % Period(from);
    flow.full_at_us =
        steady_us_ + std::min(missing_us * Period(to) + rest_us * Period(to) / Period(from),
                              int64_t{to.burst} * Period(to));
  }
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
  }
  fired_us_ = steady_us_;
}

// Nothing is known of a group without keys, once its bucket is full.
void NaiveQueue::ForgetGroups() {
  std::erase_if(flows_, [this](const auto& flow) {
    const auto& [name, state] = flow;
    const bool kept = name.empty() || state.full_at_us > steady_us_;
    return !kept && std::none_of(keys_.begin(), keys_.end(), [&name = name](const Entry& entry) {
      return entry.second.Known() && entry.second.group == name;
    });
  });
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
