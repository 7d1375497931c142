// Waiting in tests: for a condition, never for a time. The deadline only ends a test that hangs, so
// it is longer than any load delays what is waited for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace wq::support {

inline constexpr std::chrono::seconds kPatience{600};

// The end of a wait that begins now.
inline std::chrono::steady_clock::time_point PatienceEnds() {
  return std::chrono::steady_clock::now() + kPatience;
}

// Waits until `true_now`, which is asked again and again. False: it was not, for kPatience.
[[nodiscard]] inline bool Eventually(const std::function<bool()>& true_now) {
  const auto until = PatienceEnds();
  std::mutex mu;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mu);
  while (!true_now()) {
    if (std::chrono::steady_clock::now() > until) return false;
    never.wait_for(lock, std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace wq::support
