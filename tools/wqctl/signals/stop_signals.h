// How a verb ends at SIGINT, SIGTERM or SIGHUP. No other file of wqctl handles them.
//
//   InterruptScope interrupts;        // A verb with something to remove: the first signal sets a
//   while (… && !Interrupted()) …     // flag, and ends the process when the scope ends.
//
//   StopSignals signals;              // A verb that runs until it is stopped: before any thread is
//   poll({signals.fd(), POLLIN, 0})   // started, so that all threads block the signals.
//   if (signals.Take() != 0) …
//
//   StopGuard guard(signals, StopGuard::During::kClosing);  // Where such a verb does not look.
//   store->Close();
//
// A verb with neither ends at once: what it has acknowledged is in the store. A second signal ends
// a process at once, of whatever kind it is, and kStopTime after the first one it ends in any case:
// a disk or an owner that does not answer keeps no process alive. A signal that is ignored (nohup,
// a shell's "&") stays ignored. Thread-compatible, except Interrupted.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

namespace wqctl {

// How long a verb may take to end after the signal that stops it, besides a grace for commands.
inline constexpr std::chrono::seconds kStopTime{8};

// During its lifetime the first signal only sets a flag, so that a verb can remove what it has half
// made. Afterwards the signal has its usual effect.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();  // Does not return if a signal has arrived.
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};
bool Interrupted();

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int fd() const { return fd_; }
  const sigset_t& mask_before() const { return mask_before_; }

  // Returns the next pending signal, or 0.
  int Take() const;
  // Waits for a signal for so long. False: one has arrived, and was taken.
  bool WaitFor(std::chrono::microseconds time) const;

 private:
  int fd_ = -1;
  sigset_t mask_before_ = {};
};

// Acts on signals while the verb waits for something else than StopSignals. SIGHUP is kept for
// later, as to wqctl serve it is no signal to stop. Without a descriptor or a thread for it, the
// signals wait until the verb looks at them again.
class StopGuard {
 public:
  enum class During : uint8_t {
    kOpening,  // Nothing was begun: the first signal ends the process.
    kClosing,  // The first signal lets the closing go on for kStopTime.
    kStopped,  // The same, and the first signal was before: the next one ends the process.
    kShowing,  // The first signal of any kind ends the process with exit code 0.
  };
  // `signals` must outlive it.
  StopGuard(const StopSignals& signals, During during);
  ~StopGuard();
  StopGuard(const StopGuard&) = delete;
  StopGuard& operator=(const StopGuard&) = delete;

 private:
  void Watch(During during);

  const StopSignals& signals_;
  const int done_;       // An eventfd.
  bool hangup_ = false;  // Written by the thread alone, and read after it.
  std::thread watcher_;
};

}  // namespace wqctl
