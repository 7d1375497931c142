// CallSource: random calls from a seed, over few keys so that they meet.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "tests/model/call.h"

namespace wq::model {

class CallSource {
 public:
  explicit CallSource(uint64_t seed) : random_(seed) {}

  Call Next() {
    const uint64_t pick = Below(1000);
    if (pick < 250) {
      return {.op = Op::kAdd, .key = Key(), .lane = MaybeLane()};
    }
    if (pick < 500) {
      return {.op = Op::kGet};
    }
    if (pick < 730) {
      return {.op = Op::kDone, .key = Key()};
    }
    if (pick < 810) {
      return {.op = Op::kAddAfter, .key = Key(), .lane = MaybeLane(), .delay_us = Delay()};
    }
    if (pick < 880) {
      return {.op = Op::kAddRateLimited, .key = Key(), .lane = MaybeLane(), .delay_us = Delay()};
    }
    if (pick < 910) {
      return {.op = Op::kForget, .key = Key()};
    }
    if (pick < 990) {
      return {.op = Op::kAdvance, .delay_us = static_cast<int64_t>(Below(3 * kSecond))};
    }
    if (pick < 992) {
      return {.op = Op::kSetWall, .delay_us = Below(2) == 0 ? kDay : -kDay};
    }
    return {.op = pick < 995 ? Op::kCrash : Op::kGet};
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  std::string Key() { return "k" + std::to_string(Below(Below(4) == 0 ? 100 : 8)); }
  std::optional<Lane> MaybeLane() {
    const uint64_t pick = Below(4);
    return pick < 2 ? std::nullopt : std::optional(pick == 2 ? kFastLane : kSlowLane);
  }
  int64_t Delay() { return static_cast<int64_t>(Below(5 * kSecond)) - kSecond / 2; }

  static constexpr int64_t kSecond = 1'000'000;
  static constexpr int64_t kDay = 86400 * kSecond;

  std::mt19937_64 random_;
};

}  // namespace wq::model
