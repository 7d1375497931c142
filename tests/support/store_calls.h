// StoreCall, StoreSource: random calls on a store with a queue for every order policy, for all
// suites that kill, fail and damage stores.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/call.h"
#include "tests/model/call_source.h"

namespace wq::support {

using model::Call;
using model::Op;

inline constexpr int64_t kStartWallUs = 1'700'000'000'000'000;

struct QueueRules {
  std::string name;
  QueueOptions options;
};

// A queue of each policy, for one store. Two may have keys of the greatest length.
inline std::vector<QueueRules> AllPolicies() {
  return {
      {"fifo", {.max_requeues = 4}},
      {"two-lanes", {.order = Order::kTwoLanes, .max_requeues = 3}},
      {"lanes",
       {.order = Order::kLanes,
        .lanes = {2, 1, -1, -2},
        .starvation_bound = 3,
        .max_key_bytes = kMaxKeyBytes}},
      {"priorities",
       {.order = Order::kPriorities,
        .re_add = ReAdd::kRaisesLane,
        .max_requeues = 1,
        .quarantined_add = QuarantinedAdd::kRelease}},
      {"merged", {.order = Order::kPriorities, .re_add = ReAdd::kRaisesLane, .merge_delays = true}},
      {"fair", {.order = Order::kFair, .max_requeues = 3, .max_key_bytes = kMaxKeyBytes}},
      {"shards", {.order = Order::kTwoLanes, .shards = 3}},
      {"resync",
       {.order = Order::kTwoLanes, .max_requeues = 4, .resync = {std::chrono::seconds(2), 0.25}}},
      {"flow",
       {.order = Order::kTwoLanes,
        .max_requeues = 2,
        .debounce = {std::chrono::seconds(1), std::chrono::seconds(3)},
        .max_pending = 4,
        .when_full = WhenFull::kRefuse}},
      {"limits",
       {.order = Order::kFair,
        .lanes = {2, 1, -1, -2},
        .group_limits = {.max_processing = 2, .rate = {.per_second = 1, .burst = 2}}}},
  };
}

// The queues of the n-th store of a test: all of AllPolicies, or only one of them.
inline std::vector<QueueRules> PoliciesOf(uint64_t n) {
  std::vector<QueueRules> rules = AllPolicies();
  return n % 2 == 0 ? rules : std::vector<QueueRules>{rules[n / 2 % rules.size()]};
}

// A call on one queue, or, if it is kAdvance, kSetWall or kFlush, on the store.
struct StoreCall {
  size_t queue = 0;
  Call call;

  bool OnStore() const {
    return call.op == Op::kAdvance || call.op == Op::kSetWall || call.op == Op::kFlush;
  }
  std::string ToString() const {
    return (OnStore() ? "store" : "queue " + std::to_string(queue)) + "." + call.ToString();
  }
};

// The calls that must be on disk one after the other: the Adds of a kAddBatch, or the call.
inline std::vector<StoreCall> AddsOf(const StoreCall& call) {
  if (call.call.op != Op::kAddBatch) {
    return {call};
  }
  std::vector<StoreCall> adds;
  for (Call& add : model::AddsOf(call.call)) {
    adds.push_back({.queue = call.queue, .call = std::move(add)});
  }
  return adds;
}

class StoreSource {
 public:
  struct Options {
    // Of a thousand calls: how many are flushes at kPower, and how many Adds are made at kPower.
    uint32_t flushes = 0;
    uint32_t power_calls = 0;
    // A queue cannot be closed while its store is failed, and long keys fill a small disk.
    bool disk_fails = false;
    bool reopens = true;  // Unless the disk fails.
  };

  StoreSource(const std::vector<QueueRules>& rules, uint64_t seed, const Options& options)
      : options_(options), random_(seed) {
    const model::CallSource::Bounds bounds{.key_bytes = options.disk_fails ? 300 : kMaxKeyBytes,
                                           .batch_keys = 300,
                                           .reopens = options.reopens && !options.disk_fails,
                                           .fewer_lanes = true,
                                           .reads_rows = !options.disk_fails};
    for (const QueueRules& queue : rules) {
      sources_.emplace_back(queue.options, random_(), bounds);
    }
  }

  // What the next calls are like, by queue.
  std::string ToString() const {
    std::string text;
    for (const model::CallSource& source : sources_) {
      text += source.ToString() + "\n";
    }
    return text;
  }

  StoreCall Next() {
    const uint64_t pick = random_() % 1000;
    if (pick < options_.flushes) {
      return {.queue = 0, .call = {.op = Op::kFlush, .durability = Durability::kPower}};
    }
    const size_t queue = random_() % sources_.size();
    StoreCall next{.queue = queue, .call = sources_[queue].Next()};
    if (next.call.op == Op::kCrash) {
      next.call = {.op = Op::kGet};  // The tests crash the store themselves.
    } else if (pick < options_.flushes + options_.power_calls &&
               (next.call.op == Op::kAdd || next.call.op == Op::kAddBatch ||
                next.call.op == Op::kAddAfter || next.call.op == Op::kAddRateLimited)) {
      next.call.durability = Durability::kPower;
    }
    return next;
  }

 private:
  const Options options_;
  std::mt19937_64 random_;
  std::vector<model::CallSource> sources_;
};

}  // namespace wq::support
