#include "tests/model/naive_queue.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace wq::model {

std::string NaiveQueue::Do(const Call& call) {
  ++calls_;
  stands_on_ = 0;
  Key& key = keys_[call.key];
  switch (call.op) {
    case Op::kAdd: {
      const std::string said = Add(call.key, call.lane.value_or(KnownLane(key)));
      stands_on_ = key.written;
      return said;
    }
    case Op::kAddAfter:
      return AddAfter(call.key, call.delay_us, call.lane);
    case Op::kAddRateLimited:
      ++key.failures;
      AddAfter(call.key, call.delay_us, call.lane);
      stands_on_ = calls_;
      return "ok";
    case Op::kForget:
      stands_on_ = key.failures > 0 ? calls_ : 0;
      key.failures = 0;
      return "ok";
    case Op::kGet:
      return Get();
    case Op::kDone:
      return Done(call.key);
    case Op::kAdvance:
      steady_us_ += call.delay_us;
      wall_us_ += call.delay_us;
      Fire();
      return "ok";
    case Op::kSetWall:
      wall_us_ += call.delay_us;
      return "ok";
    case Op::kCrash:
      Crash();
      return "ok";
  }
  return "?";
}

Lane NaiveQueue::KnownLane(const Key& key) const {
  if (key.queued || key.processing) {
    return key.lane;
  }
  return key.delay ? key.delay->lane : 0;
}

std::string NaiveQueue::Add(const std::string& name, Lane lane) {
  Key& key = keys_[name];
  if (key.processing) {
    key.written = key.lane == lane ? key.written : calls_;
    key.lane = lane;
    return std::exchange(key.again, true) ? "deduplicated" : "added";
  }
  if (!key.queued || key.lane != lane) {
    key.place = ++last_place_;
    key.written = calls_;
  }
  key.lane = lane;
  return std::exchange(key.queued, true) ? "deduplicated" : "added";
}

std::string NaiveQueue::AddAfter(const std::string& name, int64_t delay_us,
                                 std::optional<Lane> lane) {
  Key& key = keys_[name];
  if (delay_us <= 0) {
    const std::string said = Add(name, lane.value_or(KnownLane(key)));
    stands_on_ = key.written;
    return said;
  }
  if (key.delay && key.delay->due_us <= steady_us_ + delay_us) {
    if (lane.value_or(key.delay->lane) != key.delay->lane) {
      key.delay->lane = *lane;
      key.delay->written = calls_;
    }
    stands_on_ = key.delay->written;
    return "deduplicated";
  }
  key.delay =
      Delay{steady_us_ + delay_us, wall_us_ + delay_us, delay_us, lane.value_or(KnownLane(key))};
  return "added";
}

std::string NaiveQueue::Get() {
  auto next = keys_.end();
  for (auto it = keys_.begin(); it != keys_.end(); ++it) {
    const Key& key = it->second;
    if (key.queued && (next == keys_.end() || key.lane > next->second.lane ||
                       (key.lane == next->second.lane && key.place < next->second.place))) {
      next = it;
    }
  }
  if (next == keys_.end()) {
    return "none";
  }
  next->second.queued = false;
  next->second.processing = true;
  return next->first;
}

std::string NaiveQueue::Done(const std::string& name) {
  Key& key = keys_[name];
  if (!key.processing) {
    return "NotProcessing";
  }
  key.processing = false;
  if (std::exchange(key.again, false)) {
    Add(name, key.lane);
  }
  return "ok";
}

void NaiveQueue::Fire() {
  for (;;) {
    auto next = keys_.end();
    for (auto it = keys_.begin(); it != keys_.end(); ++it) {
      if (it->second.delay && it->second.delay->due_us <= steady_us_ &&
          (next == keys_.end() || it->second.delay->due_us < next->second.delay->due_us)) {
        next = it;
      }
    }
    if (next == keys_.end()) {
      return;
    }
    Key& key = next->second;
    const Lane lane = key.delay->lane;
    key.delay.reset();
    Add(next->first, key.queued || key.processing ? std::max(lane, key.lane) : lane);
  }
}

void NaiveQueue::Crash() {
  calls_ = 0;
  for (auto& [name, key] : keys_) {
    key.queued = key.queued || key.processing;
    key.processing = key.again = false;
    key.written = 0;
    if (key.delay) {
      key.delay->written = 0;
      key.delay->due_us =
          steady_us_ + std::min(key.delay->ready_at_us - wall_us_, key.delay->delay_us);
    }
  }
  Fire();
}

std::string NaiveQueue::Dump() {
  size_t queued = 0;
  size_t processing = 0;
  size_t delayed = 0;
  size_t failing = 0;
  for (const auto& [name, key] : keys_) {
    queued += key.queued ? 1 : 0;
    processing += key.processing ? 1 : 0;
    delayed += key.delay ? 1 : 0;
    failing += key.failures > 0 ? 1 : 0;
  }
  std::string text;
  for (const size_t count : {queued, processing, delayed, failing}) {
    text += std::to_string(count) + " ";
  }
  return text + DumpRecords();
}

std::string NaiveQueue::DumpRecords() const {
  std::vector<std::pair<std::string, const Key*>> pending;
  std::vector<std::pair<std::string, const Key*>> delayed;
  std::string failing;
  for (const auto& [name, key] : keys_) {
    if (key.queued || key.processing) {
      pending.emplace_back(name, &key);
    }
    if (key.delay) {
      delayed.emplace_back(name, &key);
    }
    if (key.failures > 0) {
      failing += " " + name + "=" + std::to_string(key.failures);
    }
  }
  std::stable_sort(pending.begin(), pending.end(), [](const auto& a, const auto& b) {
    return a.second->lane != b.second->lane ? a.second->lane > b.second->lane
                                            : a.second->place < b.second->place;
  });
  std::stable_sort(delayed.begin(), delayed.end(), [](const auto& a, const auto& b) {
    return a.second->delay->ready_at_us < b.second->delay->ready_at_us;
  });
  std::string text = "| pending";
  for (const auto& [name, key] : pending) {
    text += " " + name + "@" + std::to_string(key->lane);
  }
  text += " | delayed";
  for (const auto& [name, key] : delayed) {
    text += " " + name + "@" + std::to_string(key->delay->lane) + "+" +
            std::to_string(key->delay->ready_at_us);
  }
  return text + " | failing" + failing;
}

}  // namespace wq::model
