#include "tools/wqctl/signals/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace wqctl {
namespace {

// In each child of a death test: no signal is ignored, as it may be in the parent.
void SetDefaults() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
}

// Waits for ever.
[[noreturn]] void Stall() {
  while (true) pause();
}

TEST(StopSignalsDeathTest, TheFirstSignalSetsAFlagAndEndsTheProcessAfterTheScope) {
  EXPECT_EXIT(
      {
        SetDefaults();
        {
          const InterruptScope scope;
          std::raise(SIGTERM);
          if (Interrupted()) std::fputs("still here\n", stderr);
        }
        _exit(0);
      },
      testing::KilledBySignal(SIGTERM), "still here");
}

TEST(StopSignalsDeathTest, ASecondSignalOfAnotherKindEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        SetDefaults();
        const InterruptScope scope;
        std::raise(SIGINT);
        std::raise(SIGTERM);
        Stall();
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, AVerbThatDoesNotEndIsEnded) {
  EXPECT_EXIT(
      {
        SetDefaults();
        const InterruptScope scope;
        std::raise(SIGINT);
        if (alarm(0) == 0) _exit(1);  // It was set.
        std::raise(SIGALRM);
        Stall();
      },
      testing::KilledBySignal(SIGINT), "did not end within 8 s");
}

TEST(StopSignalsDeathTest, WhileAStoreIsOpenedTheFirstSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        SetDefaults();
        const StopSignals signals;
        const StopGuard guard(signals, StopGuard::During::kOpening);
        kill(getpid(), SIGINT);
        Stall();
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignalsDeathTest, WhileAStoreIsClosedTheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        SetDefaults();
        const StopSignals signals;
        const StopGuard guard(signals, StopGuard::During::kStopped);
        kill(getpid(), SIGTERM);
        Stall();
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, AClosingThatDoesNotEndIsEnded) {
  EXPECT_EXIT(
      {
        SetDefaults();
        const StopSignals signals;
        const StopGuard guard(signals, StopGuard::During::kClosing);
        kill(getpid(), SIGTERM);
        Stall();
      },
      testing::ExitedWithCode(1), "did not end within 8 s");
}

TEST(StopSignalsDeathTest, AHangUpIsKeptForTheVerb) {
  EXPECT_EXIT(
      {
        SetDefaults();
        const StopSignals signals;
        {
          const StopGuard guard(signals, StopGuard::During::kOpening);
          kill(getpid(), SIGHUP);
        }
        _exit(signals.Take() == SIGHUP ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace wqctl
