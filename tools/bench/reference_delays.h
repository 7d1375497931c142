// ReferenceDelays and ReferenceLanes: the usual layers around the plain queue, in memory: a heap of
// ready times, a map of failure counts, two lanes. Without optimizations, as ReferenceQueue.
// Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/bench/reference_queue.h"

namespace wq::bench {

// Keys wait in a heap until they are due; of two delays of a key the earlier counts.
class ReferenceDelays {
 public:
  explicit ReferenceDelays(ReferenceQueue* queue) : queue_(queue) {}

  void AddAfter(std::string_view bytes, int64_t ready_at_us) {
    std::string key(bytes);
    const std::lock_guard lock(mu_);
    const auto [it, added] = ready_at_us_.try_emplace(key, ready_at_us);
    if (!added && it->second <= ready_at_us) {
      return;
    }
    it->second = ready_at_us;
    heap_.emplace(ready_at_us, std::move(key));
  }

  void AddRateLimited(std::string_view bytes, int64_t now_us) {
    int64_t delay_us = 5000;
    {
      const std::lock_guard lock(mu_);
      const uint64_t failures = failures_[std::string(bytes)]++;
      delay_us <<= failures < 20 ? failures : 20;
    }
    AddAfter(bytes, now_us + delay_us);
  }

  void Forget(std::string_view bytes) {
    const std::lock_guard lock(mu_);
    failures_.erase(std::string(bytes));
  }

  // Adds all due keys; returns their number.
  size_t Fire(int64_t now_us) {
    const std::lock_guard lock(mu_);
    size_t fired = 0;
    while (!heap_.empty() && heap_.top().first <= now_us) {
      const auto [ready_at_us, key] = heap_.top();
      heap_.pop();
      const auto it = ready_at_us_.find(key);
      if (it != ready_at_us_.end() && it->second == ready_at_us) {
        ready_at_us_.erase(it);
        queue_->Add(key);
        ++fired;
      }
    }
    return fired;
  }

  size_t failing() const {
    const std::lock_guard lock(mu_);
    return failures_.size();
  }

 private:
  using Entry = std::pair<int64_t, std::string>;

  ReferenceQueue* const queue_;
  mutable std::mutex mu_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  std::unordered_map<std::string, int64_t> ready_at_us_;  // Other entries of heap_ are stale.
  std::unordered_map<std::string, uint64_t> failures_;
};

// Queued keys in two lanes; an Add of a queued key with the other lane moves it to the back of
// that.
class ReferenceLanes {
 public:
  void Add(std::string_view bytes, size_t lane) {
    std::string key(bytes);
    const std::lock_guard lock(mu_);
    const auto [it, added] = places_.try_emplace(std::move(key));
    Place& place = it->second;
    if (added) {
      place.at = lanes_[lane].insert(lanes_[lane].end(), it->first);
    } else if (place.lane != lane) {
      lanes_[lane].splice(lanes_[lane].end(), lanes_[place.lane], place.at);
    }
    place.lane = lane;
  }

  size_t Len(size_t lane) const {
    const std::lock_guard lock(mu_);
    return lanes_[lane].size();
  }

 private:
  struct Place {
    size_t lane = 0;
    std::list<std::string>::iterator at;  // In lanes_[lane].
  };

  mutable std::mutex mu_;
  std::array<std::list<std::string>, 2> lanes_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace wq::bench
