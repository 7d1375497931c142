// Timer: the thread that fires a store's delays when they are due.
//
// It sleeps until the earliest instant that it knows of, and looks again at least every 10 s then:
// a clock may not run as it was asked to. With nothing delayed it sleeps without end. Threading:
// thread-safe. Its lock is not held while it fires.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <thread>

#include "base/mutex.h"
#include "wq/clock.h"

namespace wq {

class Timer {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  class Target {
   public:
    virtual ~Target() = default;
    // Fires what is due. Returns the steady time at which to call again, or kNever.
    virtual int64_t FireDue() = 0;
  };

  explicit Timer(Clock* clock);  // Borrowed.
  ~Timer();                      // Stops if Stop was not called.
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Target has something due at `due_us`, steady time. The earliest such call counts.
  void Arm(Target* target, int64_t due_us);

  // No target is fired any more. Blocks: until the one that is being fired returns.
  void Stop();

 private:
  void Loop();
  void FireTarget(Target* target) WQ_REQUIRES(mu_);

  Clock* const clock_;
  uint64_t subscription_ = 0;

  Mutex mu_;
  CondVar cv_;  // Something earlier is due, the clock jumped, or stopping_.
  std::map<Target*, int64_t> due_ WQ_GUARDED_BY(mu_);
  int64_t sleeping_until_ WQ_GUARDED_BY(mu_) = kNever;
  bool look_again_ WQ_GUARDED_BY(mu_) = false;
  bool stopping_ WQ_GUARDED_BY(mu_) = false;

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace wq
