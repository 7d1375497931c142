// Timer: the thread that fires a store's delays when they are due.
//
// It sleeps until the earliest due time that it was given. With a due time it wakes at least every
// 10 s of real time, because the store's clock may run at another speed; without one it sleeps
// until Arm.
//
// Thread-safe. Its lock is not held while it calls a target.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <utility>

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

  // Fires `target` at `due_us`, steady time, or at an earlier time that it is armed for.
  // REQUIRES: the target lives until Stop has returned.
  void Arm(Target* target, int64_t due_us) WQ_EXCLUDES(mu_);
  // Forgets for when `target` is armed. It may be fired just now.
  void Disarm(Target* target) WQ_EXCLUDES(mu_);

  // After it no target is fired. Blocks: until a target that is being fired returns.
  void Stop();

 private:
  void Loop();
  // Waits until a target is due, and disarms it; nullptr: the timer stops.
  Target* AwaitDue() WQ_EXCLUDES(mu_);
  // Returns whether `target` is due earlier than before.
  bool ArmLocked(Target* target, int64_t due_us) WQ_REQUIRES(mu_);
  void DisarmLocked(Target* target) WQ_REQUIRES(mu_);
  // Waits until `due_us`, a change, or the longest sleep.
  void Sleep(int64_t now_us, int64_t due_us) WQ_REQUIRES(mu_);

  Clock* const clock_;

  Mutex mu_;
  CondVar cv_;                                         // changed_ or stopping_ was set.
  std::map<Target*, int64_t> due_ WQ_GUARDED_BY(mu_);  // Of the targets that are armed.
  std::set<std::pair<int64_t, Target*>> in_order_ WQ_GUARDED_BY(mu_);  // The same.
  int64_t sleeping_until_ WQ_GUARDED_BY(mu_) = kNever;                 // kNever while awake, too.
  bool changed_ WQ_GUARDED_BY(mu_) = false;  // An earlier due time, or the clock jumped.
  bool stopping_ WQ_GUARDED_BY(mu_) = false;

  // Last: both use all of the above, from their construction on.
  const uint64_t subscription_;
  std::thread thread_;
};

}  // namespace wq
