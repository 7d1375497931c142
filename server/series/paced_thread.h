// PacedThread: a thread that does its work at times that the work itself names.
//
//   PacedThread thread(clock, [&]() -> std::optional<int64_t> {
//     Sample();
//     return clock->SteadyUs() + 10'000'000;  // nullopt: not before the next Wake.
//   });
//   Status s = thread.Start();
//
// With a manual clock the work is done when that clock is advanced. Threading: thread-safe.
// Lifetime: borrows the clock; Close before what the work uses ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class PacedThread {
 public:
  // Returns the time of the steady clock at which it is to be called next.
  using Work = std::function<std::optional<int64_t>()>;
  PacedThread(Clock* clock, Work work) : clock_(clock), work_(std::move(work)) {}
  ~PacedThread() { Close(); }
  PacedThread(const PacedThread&) = delete;
  PacedThread& operator=(const PacedThread&) = delete;

  // Calls the work at once. IOError: no thread can be started.
  Status Start() WQ_EXCLUDES(mu_);
  // Calls the work soon, whatever time it has named. Never blocks.
  void Wake() WQ_EXCLUDES(mu_);
  // Blocks: for a call that is under way. Idempotent; called by one thread at a time.
  void Close() WQ_EXCLUDES(mu_);

 private:
  void Run() WQ_EXCLUDES(mu_);

  Clock* const clock_;
  const Work work_;
  Mutex mu_;
  CondVar changed_;
  bool woken_ WQ_GUARDED_BY(mu_) = true;
  bool closing_ WQ_GUARDED_BY(mu_) = false;
  std::thread thread_;
  std::optional<uint64_t> subscription_;
};

}  // namespace wq
