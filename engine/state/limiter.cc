#include "wq/limiter.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace wq {
namespace {

using std::chrono::microseconds;

microseconds AtLeastZero(microseconds d) { return std::max(d, microseconds(0)); }

}  // namespace

Limiter::~Limiter() = default;

// --- ItemExponentialFailure ---

ItemExponentialFailure::ItemExponentialFailure(microseconds base, microseconds max)
    : base_(AtLeastZero(base)), max_(AtLeastZero(max)) {}

microseconds ItemExponentialFailure::When(std::string_view /*key*/, uint64_t failures,
                                          Time /*now*/) {
  // base * 2^failures is above max if base > max >> failures. A shift of 63 makes any max 0.
  const auto shift = static_cast<int>(std::min<uint64_t>(failures, 63));
  if (base_.count() > (max_.count() >> shift)) {
    return max_;
  }
  return microseconds(base_.count() << shift);
}

// --- ItemFastSlow ---

ItemFastSlow::ItemFastSlow(microseconds fast, microseconds slow, uint64_t max_fast_attempts)
    : fast_(AtLeastZero(fast)), slow_(AtLeastZero(slow)), max_fast_attempts_(max_fast_attempts) {}

microseconds ItemFastSlow::When(std::string_view /*key*/, uint64_t failures, Time /*now*/) {
  return failures < max_fast_attempts_ ? fast_ : slow_;  // This failure is number failures + 1.
}

// --- Bucket ---

Bucket::Bucket(double rate, int64_t burst)
    : rate_(rate > 1e-6 ? rate : 1e-6),
      burst_(static_cast<double>(std::max<int64_t>(burst, 1))),
      tokens_(burst_) {}

double Bucket::TokensAt(int64_t steady_us) const {
  if (!started_ || steady_us <= at_us_) {
    return tokens_;
  }
  return std::min(burst_, tokens_ + rate_ * static_cast<double>(steady_us - at_us_) / 1e6);
}

microseconds Bucket::When(std::string_view /*key*/, uint64_t /*failures*/, Time now) {
  const std::lock_guard lock(mu_);
  tokens_ = TokensAt(now.steady_us) - 1;
  at_us_ = std::max(at_us_, now.steady_us);
  started_ = true;
  if (tokens_ >= 0) {
    return microseconds(0);
  }
  const double wait_us = std::ceil(-tokens_ / rate_ * 1e6);
  constexpr auto kLongest = static_cast<double>(std::numeric_limits<int64_t>::max()) / 2;
  return microseconds(static_cast<int64_t>(std::min(wait_us, kLongest)));
}

// "<micro-tokens> <wall time>": the tokens that were left at that time.
std::string Bucket::SaveState(Time now) const {
  const std::lock_guard lock(mu_);
  constexpr double kMost = 1e18;  // A million million tokens.
  const double micro_tokens = std::clamp(TokensAt(now.steady_us) * 1e6, -kMost, kMost);
  return std::to_string(static_cast<int64_t>(std::floor(micro_tokens))) + " " +
         std::to_string(now.wall_us);
}

void Bucket::RestoreState(std::string_view state, Time now) {
  int64_t micro_tokens = 0;
  int64_t wall_us = 0;
  const char* end = state.data() + state.size();
  const auto [gap, error] = std::from_chars(state.data(), end, micro_tokens);
  if (error != std::errc() || gap == end || *gap != ' ') {
    return;
  }
  const auto [rest, second_error] = std::from_chars(gap + 1, end, wall_us);
  if (second_error != std::errc() || rest != end) {
    return;
  }
  const std::lock_guard lock(mu_);
  // The bucket also filled while the process was down. A clock that was set back adds nothing.
  const double away_us = static_cast<double>(now.wall_us) - static_cast<double>(wall_us);
  tokens_ = std::min(
      burst_, static_cast<double>(micro_tokens) / 1e6 + rate_ * std::max(away_us, 0.0) / 1e6);
  at_us_ = now.steady_us;
  started_ = true;
}

// --- MaxOf ---

MaxOf::MaxOf(std::vector<std::shared_ptr<Limiter>> limiters)
    : limiters_([&limiters] {
        std::erase(limiters, nullptr);
        return std::move(limiters);
      }()) {}

microseconds MaxOf::When(std::string_view key, uint64_t failures, Time now) {
  microseconds longest(0);
  for (const auto& limiter : limiters_) {
    longest = std::max(longest, limiter->When(key, failures, now));
  }
  return longest;
}

void MaxOf::Forget(std::string_view key) {
  for (const auto& limiter : limiters_) {
    limiter->Forget(key);
  }
}

// The states of all limiters, each as "<bytes>:<state>".
std::string MaxOf::SaveState(Time now) const {
  std::string all;
  bool any = false;
  for (const auto& limiter : limiters_) {
    const std::string state = limiter->SaveState(now);
    any = any || !state.empty();
    all += std::to_string(state.size()) + ":" + state;
  }
  return any ? all : std::string();
}

void MaxOf::RestoreState(std::string_view state, Time now) {
  for (const auto& limiter : limiters_) {
    size_t bytes = 0;
    const char* end = state.data() + state.size();
    const auto [colon, error] = std::from_chars(state.data(), end, bytes);
    if (error != std::errc() || colon == end || *colon != ':') {
      return;
    }
    state.remove_prefix(static_cast<size_t>(colon - state.data()) + 1);
    if (bytes > state.size()) {
      return;
    }
    if (bytes > 0) {
      limiter->RestoreState(state.substr(0, bytes), now);
    }
    state.remove_prefix(bytes);
  }
}

// --- WithMaxWait ---

WithMaxWait::WithMaxWait(std::shared_ptr<Limiter> inner, microseconds max)
    : inner_(std::move(inner)), max_(AtLeastZero(max)) {
  WQ_CHECK(inner_ != nullptr, "WithMaxWait of no limiter");
}

microseconds WithMaxWait::When(std::string_view key, uint64_t failures, Time now) {
  return std::min(inner_->When(key, failures, now), max_);
}

void WithMaxWait::Forget(std::string_view key) { inner_->Forget(key); }
std::string WithMaxWait::SaveState(Time now) const { return inner_->SaveState(now); }
void WithMaxWait::RestoreState(std::string_view state, Time now) {
  inner_->RestoreState(state, now);
}

std::shared_ptr<Limiter> DefaultControllerLimiter() {
  return std::make_shared<MaxOf>(std::vector<std::shared_ptr<Limiter>>{
      std::make_shared<ItemExponentialFailure>(std::chrono::milliseconds(5),
                                               std::chrono::seconds(1000)),
      std::make_shared<Bucket>(10, 100)});
}

}  // namespace wq
