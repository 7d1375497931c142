// ResyncGate: how fast keys are resynced: at most at kFaster times the rate at which they would
// come if they were spread evenly, each once in its period. So neither keys that were added
// together nor those that fell due while the process was down come in a burst, and after less than
// the longest of their periods they are spread.
//
// A queue has a gate for each band of periods: a key of a short period must not wait until all of a
// long one are through.
//
// Keys are let through in rounds, at least kTickUs apart. The gate earns credit at that rate, each
// key costs as much as it earns for one, and a round ends when the gate owes something. All is
// counted in integers, so that the order of the keys does not matter.
//
//   if (gate.NextUs(first_due_us) <= now_us) {
//     while (gate.IsOpen(now_us) && …) gate.Pass();
//     gate.EndRound(now_us);
//   }
//
// Pure. Thread-compatible: guarded by its queue's lock. Times are steady, in microseconds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/mutant.h"

namespace wq {

class ResyncGate {
 public:
  static constexpr double kFaster = 1.1;
  static constexpr int64_t kTickUs = 10'000;

  // Which gate a key shares: that of the periods which are less than twice as long as the shortest.
  static int BandOf(int64_t period_us) {
    const int64_t shortest_us = WQ_MUTANT(one_resync_band) ? INT64_MAX : kShortestUs;
    return static_cast<int>(
        std::bit_width(static_cast<uint64_t>(std::max(period_us, shortest_us))));
  }

  // A key waits for its resync, with this period; it does so no longer. The time before `now_us`
  // counts for those that waited until then.
  void Add(int64_t period_us, int64_t now_us) {
    Earn(now_us);
    share_ += Share(period_us);
    next_us_ = std::min(next_us_, now_us + std::max(kTickUs, OwedUs()));
  }
  void Remove(int64_t period_us) { share_ -= Share(period_us); }

  // When the next round is, if the first key is due at `due_us`.
  int64_t NextUs(int64_t due_us) const { return std::max(due_us, next_us_); }
  // Whether a key may be let through. Then Pass, before Remove of the key.
  bool IsOpen(int64_t now_us) {
    Earn(now_us);
    return credit_ >= 0 || WQ_MUTANT(resync_burst);
  }
  void Pass() { credit_ -= kCost; }
  void EndRound(int64_t now_us) { next_us_ = now_us + std::max(kTickUs, OwedUs()); }

 private:
  __extension__ using Credit = __int128;
  static constexpr int64_t kScale = int64_t{1} << 56;  // The share of kMaxDelay is off by 4 %.
  static constexpr Credit kCost = static_cast<Credit>(static_cast<double>(kScale) / kFaster);
  static constexpr int64_t kLongestUs = kScale;
  // What is earned in this time is the most that is kept, for timers that are late.
  static constexpr int64_t kMostUs = 5 * kTickUs;
  static constexpr int64_t kShortestUs = 1000;  // A shorter period counts as this.

  static Credit Share(int64_t period_us) { return kScale / std::max(period_us, kShortestUs); }

  // Until nothing is owed any more.
  int64_t OwedUs() const {
    if (credit_ >= 0 || share_ == 0) {
      return 0;
    }
    return static_cast<int64_t>(std::min<Credit>((-credit_ + share_ - 1) / share_, kLongestUs));
  }

  void Earn(int64_t now_us) {
    const int64_t passed_us = std::max<int64_t>(0, now_us - earned_us_);
    credit_ = std::min(credit_ + passed_us * share_, std::max<Credit>(0, kMostUs * share_));
    earned_us_ = now_us;
  }

  Credit share_ = 0;  // What is earned in a microsecond: the sum of kScale / period.
  Credit credit_ = 0;
  int64_t earned_us_ = 0;
  int64_t next_us_ = 0;
};

}  // namespace wq
