// CallSource: random calls from a seed, over few keys, so that many calls have the same key.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "tests/model/call.h"

namespace wq::model {

class CallSource {
 public:
  CallSource(const QueueOptions& options, uint64_t seed) : options_(options), random_(seed) {}

  Call Next() {
    const uint64_t pick = Below(1000);
    if (pick < 240) {
      Call add{
          .op = Op::kAdd, .key = Key(), .lane = MaybeLane(), .group = Group(), .reason = Reason()};
      if (Below(3) == 0) {
        add.group.clear();
        add.durability = Durability::kAsync;
      }
      return add;
    }
    if (pick < 480) {
      const auto shard = static_cast<uint32_t>(options_.shards > 0 ? Below(options_.shards) : 0);
      return pick < 440 ? Call{.op = Op::kGet, .shard = shard}
                        : Call{.op = Op::kTryGet, .shard = shard, .limit = Below(4)};
    }
    if (pick < 700) {
      return {.op = pick < 650 ? Op::kDone : Op::kPutBack, .key = Key()};
    }
    if (pick < 840) {
      const Op op = pick < 770 ? Op::kAddAfter : Op::kAddRateLimited;
      return {.op = op,
              .key = Key(),
              .lane = MaybeLane(),
              .delay_us = Delay(),
              .group = Group(),
              .reason = Reason(),
              .mode = op == Op::kAddAfter ? Mode() : DelayMode::kEarliest};
    }
    if (pick < 900) {
      return {.op = Op::kAdvance, .delay_us = static_cast<int64_t>(Below(3 * kSecond))};
    }
    if (pick < 902 && sets_limits_) {
      return {.op = Op::kSetLimits,
              .group = Below(4) == 0 ? "" : "g" + std::to_string(Below(5)),
              .limits = Limits()};
    }
    if (pick < 904) {
      return {.op = Op::kSetWall, .delay_us = Below(2) == 0 ? kDay : -kDay};
    }
    if (pick < 908) {
      return {.op = Op::kPause, .delay_us = static_cast<int64_t>(Below(4 * kSecond))};
    }
    if (pick < 988) {
      constexpr Op kOthers[] = {Op::kForget,  Op::kRemove,   Op::kCancelDelay, Op::kEndDelay,
                                Op::kRelease, Op::kDrop,     Op::kDelete,      Op::kQuarantine,
                                Op::kResume,  Op::kSetCursor};
      const Op op = kOthers[Below(std::size(kOthers))];
      const bool delays = op == Op::kRelease && Below(2) == 0;
      return {.op = op, .key = Key(), .delay_us = delays ? Delay() : 0};
    }
    return {.op = pick < 992 ? Op::kCrash : Op::kGet};
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  std::string Key() {
    const bool few = options_.shards > 0 || sets_limits_ ||
                     Below(4) != 0;  // Few, as a shard or a limit waits until a key is done.
    return "k" + std::to_string(Below(few ? 8 : 100));
  }
  std::optional<Lane> MaybeLane() {
    const bool one_lane = options_.order == Order::kFifo ||
                          (options_.order == Order::kFair && options_.lanes.empty());
    if (one_lane || Below(2) == 0) {
      return std::nullopt;
    }
    if (options_.order == Order::kTwoLanes) {
      return Below(2) == 0 ? kFastLane : kSlowLane;
    }
    return static_cast<Lane>(Below(5)) - 2;
  }
  std::string Group() { return Below(3) == 0 ? "" : "g" + std::to_string(Below(5)); }
  std::string Reason() { return Below(3) == 0 ? "r" + std::to_string(Below(3)) : ""; }
  std::optional<GroupLimits> Limits() {
    if (Below(3) == 0) {
      return std::nullopt;
    }
    return GroupLimits{.max_processing = static_cast<uint32_t>(Below(4)),
                       .rate = {.per_second = static_cast<double>(Below(4) / 2),
                                .burst = 1 + static_cast<uint32_t>(Below(2))},
                       .weight = 1 + static_cast<uint32_t>(Below(3))};
  }
  DelayMode Mode() {  // Mostly the default.
    return static_cast<DelayMode>(Below(2) == 0 ? Below(4) : 0);
  }
  int64_t Delay() { return static_cast<int64_t>(Below(5 * kSecond)) - kSecond / 2; }

  static constexpr int64_t kSecond = 1'000'000;
  static constexpr int64_t kDay = 86400 * kSecond;

  const QueueOptions options_;
  const bool sets_limits_ =
      options_.limits != GroupLimits() || options_.group_limits != GroupLimits();
  std::mt19937_64 random_;
};

}  // namespace wq::model
