#include "tools/wqctl/signals/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace wqctl {
namespace {

using During = StopGuard::During;

// Waits for ever.
[[noreturn]] void Stall() {
  while (true) pause();
}

// A guard beside which the signal comes, and nothing ends by itself.
void Guarded(During during, int signal) {
  const StopSignals signals;
  const StopGuard guard(signals, during);
  kill(getpid(), signal);
  Stall();
}

// Runs in a child of a death test, in which no signal is ignored, as it may be in the parent.
void Child(void (*run)()) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  run();
  _exit(0);
}

void FlagInScope() {
  const InterruptScope scope;
  std::raise(SIGTERM);
  if (Interrupted()) std::fputs("still here\n", stderr);
}
void SecondSignal() {
  const InterruptScope scope;
  std::raise(SIGINT);
  std::raise(SIGTERM);
  Stall();
}
void TooSlow() {
  const InterruptScope scope;
  std::raise(SIGINT);
  if (alarm(0) == 0) _exit(1);  // It was set.
  std::raise(SIGALRM);
  Stall();
}
void HangUp() {
  const StopSignals signals;
  {
    const StopGuard guard(signals, During::kOpening);
    kill(getpid(), SIGHUP);
  }
  _exit(signals.Take() == SIGHUP ? 0 : 1);
}

TEST(StopSignalsDeathTest, HowAProcessEnds) {
  using testing::ExitedWithCode;
  using testing::KilledBySignal;
  // The first signal sets a flag, and ends the process after the scope; a second one, of whatever
  // kind, at once; and so does the time.
  EXPECT_EXIT(Child(FlagInScope), KilledBySignal(SIGTERM), "still here");
  EXPECT_EXIT(Child(SecondSignal), KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(Child(TooSlow), KilledBySignal(SIGINT), "did not end within 8 s");
  // Beside a guard.
  EXPECT_EXIT(Child([] { Guarded(During::kOpening, SIGINT); }), KilledBySignal(SIGINT), "");
  EXPECT_EXIT(Child([] { Guarded(During::kStopped, SIGTERM); }), KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(Child([] { Guarded(During::kClosing, SIGTERM); }), ExitedWithCode(1),
              "did not end within 8 s");
  EXPECT_EXIT(Child(HangUp), ExitedWithCode(0), "") << "it is kept for the verb";
}

}  // namespace
}  // namespace wqctl
