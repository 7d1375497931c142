// CallSource: random calls from a seed, over few keys, so that many calls have the same key.
//
// What the calls are like is drawn anew for every kCallsOfADraw of them: whether there are long
// keys, batches, refused keys, reopenings, deletions of the queue, and how many.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "tests/model/call.h"
#include "tests/support/draw.h"

namespace wq::model {

class CallSource {
 public:
  struct Bounds {
    size_t key_bytes = kMaxKeyBytes;  // At most QueueOptions::max_key_bytes, too.
    size_t batch_keys = 10'000;
    bool reopens = false;      // Whether there are kReopen and kDeleteQueue.
    bool fewer_lanes = false;  // Whether kReopen may be kFewerLanes.
    // Whether there are delayed batches and changes of many keys, which a crash may cut short.
    bool changes_many = false;
    // Whether rows of objects may be read: an object gets other keys, or a list ends.
    bool reads_rows = true;
  };
  static constexpr uint64_t kCallsOfADraw = 2000;

  CallSource(const QueueOptions& options, uint64_t seed, const Bounds& bounds)
      : first_options_(options),
        bounds_(bounds),
        key_bytes_(std::min(bounds.key_bytes, options.max_key_bytes)),
        random_(seed) {}

  Call Next() {
    if (calls_++ % kCallsOfADraw == 0) {
      Draw();
    }
    Call call = NextCall();
    call.if_absent = Below(16) == 0;
    return call;
  }

  // What the present calls are like.
  std::string ToString() const {
    if (!sizes_.has_value()) {
      return "no call was drawn";
    }
    return sizes_->ToString() + "; one Add in " + std::to_string(batch_in_) +
           " is a batch; refused keys: one in " + std::to_string(refused_in_) +
           "; reopenings: one call in " + std::to_string(reopen_in_);
  }

 private:
  static constexpr int64_t kSecond = 1'000'000;
  static constexpr int64_t kDay = 86400 * kSecond;
  static constexpr uint64_t kLongKeys = 12;
  static constexpr size_t kBatchBytes = size_t{256} << 10;  // Then the keys are short.

  Call NextCall() {
    if (OneIn(reopen_in_)) {
      return Reopen();
    }
    const uint64_t pick = Below(1000);
    if (pick < 200) {
      return Add();
    }
    if (pick < 240) {
      return Observe();
    }
    if (pick < 480) {
      const auto shard = static_cast<uint32_t>(options_.shards > 0 ? Below(options_.shards) : 0);
      return pick < 440 ? Call{.op = Op::kGet, .shard = shard}
                        : Call{.op = Op::kTryGet, .shard = shard, .limit = Below(4)};
    }
    if (pick < 700) {
      return {.op = pick < 640   ? Op::kDone
                    : pick < 670 ? Op::kPutBack
                                 : Op::kPutBackDead,
              .key = Key(),
              .delay_us = pick < 670 ? 0 : Delay()};
    }
    if (pick < 840) {
      const Op op = pick < 770 ? Op::kAddAfter : Op::kAddRateLimited;
      return {.op = op,
              .key = AnyKey(),
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
      GroupLimits of_groups = Limits();
      return {.op = Op::kSetLimits, .limits = of_groups, .limits_of_queue = Limits()};
    }
    if (pick < 904) {
      return {.op = Op::kSetWall, .delay_us = Below(2) == 0 ? kDay : -kDay};
    }
    if (pick < 908) {
      return {.op = Op::kPause, .delay_us = static_cast<int64_t>(Below(4 * kSecond))};
    }
    if (pick < 988) {
      return Change();
    }
    return {.op = pick < 992 ? Op::kCrash : Op::kGet};
  }

  void Draw() {
    sizes_.emplace(random_(), support::DrawnSizes::Bounds{.key_bytes = key_bytes_,
                                                          .batch_keys = bounds_.batch_keys,
                                                          .total_bytes = SIZE_MAX});
    batch_in_ = support::DrawOne(&random_, std::array<uint64_t, 3>{0, 30, 8});
    refused_in_ = support::DrawOne(&random_, std::array<uint64_t, 3>{0, 0, 100});
    reopen_in_ = support::DrawOne(&random_, std::array<uint64_t, 4>{0, 0, 200, 40});
    reopen_in_ = bounds_.reopens ? reopen_in_ : 0;
    // The longest batch once in a while, so that most of the calls are others.
    batch_keys_left_ = draws_++ % 16 == 0 ? bounds_.batch_keys : batch_keys_left_;
  }

  Call Add() {
    Call add{.op = Op::kAdd, .lane = MaybeLane(), .group = Group(), .reason = Reason()};
    if (Below(3) == 0) {
      add.group.clear();
      add.durability = Durability::kAsync;
    }
    if (!OneIn(batch_in_)) {
      add.key = AnyKey();
      return add;
    }
    add.op = Op::kAddBatch;
    if (bounds_.changes_many && Below(3) == 0) {
      add.delay_us = 1 + static_cast<int64_t>(Below(5 * kSecond));
    }
    const size_t count = std::min(sizes_->BatchKeys(), std::max<size_t>(1, batch_keys_left_));
    batch_keys_left_ -= std::min(batch_keys_left_, count);
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      add.keys.push_back(bytes < kBatchBytes ? AnyKey() : support::KeyOf(Below(8)));
      bytes += add.keys.back().size();
    }
    return add;
  }

  // Of few objects in few versions. The keys of an object are its own, or some.
  Call Observe() {
    const uint64_t pick = Below(20);
    if (pick == 0) {
      return {.op = Op::kBeginList,
              .key = Below(3) == 0 ? "scope" : "",
              .version = "f" + std::to_string(Below(2))};
    }
    if (pick == 1 && bounds_.changes_many && bounds_.reads_rows) {
      return {.op = Op::kEndList, .lane = MaybeLane()};
    }
    const uint64_t object = Below(6);
    Call call{.op = pick < 5 ? Op::kObserveDeleted : Op::kObserve,
              .key = "o" + std::to_string(object),
              .lane = MaybeLane(),
              .group = Group(),
              .reason = Reason(),
              .version = Below(8) == 0 ? "" : "v" + std::to_string(Below(3)),
              .observed = {support::KeyOf(object)}};
    if (bounds_.reads_rows && Below(3) == 0) {
      call.observed = {AnyKey()};
      if (const std::string other = Key(); Below(2) == 0 && other != call.observed[0]) {
        call.observed.push_back(other);
      }
    }
    call.filtered = call.op == Op::kObserve && Below(6) == 0;
    if (call.op == Op::kObserve && Below(2) == 0) {
      call.tombstone = "t" + std::to_string(Below(2));
    }
    call.asks_before = call.op == Op::kObserve && bounds_.reads_rows && Below(4) == 0;
    if (call.filtered && bounds_.reads_rows && Below(2) == 0) {
      call.observed.clear();
    }
    return call;
  }

  Call Reopen() {
    if (Below(8) == 0) {
      return {.op = Op::kDeleteQueue, .durability = Durability::kPower};
    }
    auto reopening = static_cast<Reopening>(Below(kReopenings));
    if (reopening == Reopening::kFewerLanes && !bounds_.fewer_lanes) {
      reopening = Reopening::kAsIs;
    }
    options_ = OptionsOf(first_options_, reopening);
    return {.op = Op::kReopen, .durability = Durability::kPower, .reopening = reopening};
  }

  Call Change() {
    constexpr Op kOthers[] = {Op::kForget,  Op::kRemove,   Op::kCancelDelay, Op::kEndDelay,
                              Op::kRelease, Op::kDrop,     Op::kDelete,      Op::kQuarantine,
                              Op::kResume,  Op::kSetCursor};
    const Op op = kOthers[Below(std::size(kOthers))];
    const bool delays = op == Op::kRelease && Below(2) == 0;
    Call change{.op = op,
                .key = op == Op::kQuarantine ? AnyKey() : Key(),
                .delay_us = delays ? Delay() : 0};
    if (bounds_.changes_many && IsOfMany(op) && Below(3) == 0) {
      change.delay_us = std::max<int64_t>(0, change.delay_us);  // Of many it must not be negative.
      change.keys = {Key(), Key(), Key()};
    }
    return change;
  }

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return n > 0 && Below(n) == 0; }

  std::string Key() {
    // Few, as a shard or a limit waits until a key is done.
    const bool few = options_.shards > 0 || sets_limits_ || Below(4) != 0;
    if (sizes_->IsLongKey()) {
      // Number i has about half of the bytes of the one before; the first one has the most.
      const uint64_t i = Below(few ? 3 : kLongKeys);
      return support::KeyOf(1000 + i, i == 0 ? key_bytes_ : 1 + (key_bytes_ >> i));
    }
    return support::KeyOf(Below(few ? 8 : 100));
  }
  // Sometimes one that is refused.
  std::string AnyKey() {
    if (!OneIn(refused_in_)) {
      return Key();
    }
    return Below(2) == 0 ? "" : support::KeyOf(2000, options_.max_key_bytes + 1);
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
    if (options_.order != Order::kPriorities && Below(3) != 0) {
      return options_.lanes[Below(options_.lanes.size())];
    }
    return options_.order == Order::kPriorities ? static_cast<Lane>(Below(5)) - 2 : kFastLane;
  }
  std::string Group() { return Below(3) == 0 ? "" : "g" + std::to_string(Below(5)); }
  std::string Reason() { return Below(3) == 0 ? "r" + std::to_string(Below(3)) : ""; }
  GroupLimits Limits() {
    if (Below(3) == 0) {
      return {};
    }
    return GroupLimits{.max_processing = static_cast<uint32_t>(Below(4)),
                       .rate = {.per_second = Below(4) < 2 ? 0.0 : 1.0,
                                .burst = 1 + static_cast<uint32_t>(Below(2))}};
  }
  DelayMode Mode() {  // Mostly the default.
    return static_cast<DelayMode>(Below(2) == 0 ? Below(3) : 0);
  }
  int64_t Delay() { return static_cast<int64_t>(Below(5 * kSecond)) - kSecond / 2; }

  const QueueOptions first_options_;
  QueueOptions options_ = first_options_;  // Those of the last kReopen.
  const Bounds bounds_;
  const size_t key_bytes_;
  const bool sets_limits_ =
      first_options_.limits != GroupLimits() || first_options_.group_limits != GroupLimits();
  std::mt19937_64 random_;
  uint64_t calls_ = 0;
  uint64_t draws_ = 0;

  // What is drawn.
  std::optional<support::DrawnSizes> sizes_;
  uint64_t batch_in_ = 0;  // One Add in so many; 0: none. The next ones likewise.
  uint64_t refused_in_ = 0;
  uint64_t reopen_in_ = 0;
  size_t batch_keys_left_ = 0;
};

}  // namespace wq::model
