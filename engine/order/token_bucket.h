// TokenBucket: the tokens of a Rate. It is kept as one number, the time at which the bucket is full
// again if nothing is taken (GCRA: ITU-T I.371). Times are steady, in microseconds. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/mutant.h"
#include "wq/options.h"

namespace wq {

class TokenBucket {
 public:
  // When there is a token, or has been since.
  int64_t TokenAtUs(const Rate& rate) const {
    return Up(full_at_us_ - (rate.burst - 1) * PeriodUs(rate));
  }
  int64_t FullAtUs() const { return Up(full_at_us_); }
  // Takes a token. `waited`: for a token that was waited for and is taken late, up to a period of
  // the lateness is made up, so that late timers and workers do not lower the rate.
  void Take(const Rate& rate, int64_t now_us, bool waited) {
    const double period_us = PeriodUs(rate);
    const double from_us = static_cast<double>(now_us) - (waited ? period_us : 0);
    full_at_us_ =
        std::max(full_at_us_, from_us) + (WQ_MUTANT(twice_the_rate) ? period_us / 2 : period_us);
  }
  // As many tokens are missing as before, but at most a whole bucket.
  void Change(const Rate& from, const Rate& to, int64_t now_us) {
    if (to.per_second == 0) {
      full_at_us_ = 0;
      return;
    }
    const double now = static_cast<double>(now_us);
    const double missing_us = from.per_second == 0 ? 0 : std::max(0.0, full_at_us_ - now);
    const double longer = from.per_second == 0 ? 1 : PeriodUs(to) / PeriodUs(from);
    full_at_us_ = now + std::min(missing_us * longer, to.burst * PeriodUs(to));
  }

 private:
  static double PeriodUs(const Rate& rate) { return 1e6 / rate.per_second; }
  static int64_t Up(double us) { return static_cast<int64_t>(std::ceil(us)); }

  double full_at_us_ = 0;
};

}  // namespace wq
