// One call on the disk fails, or every call from it on: EIO or ENOSPC at the first, the second, ...
// call of a scenario, until a run has no fault. A store must neither abort nor hang, its queues go
// on in memory, every call returns NotDurable, Health gives the reason; and after the next opening
// nothing that was acknowledged is missing. Of the failed stores two in three recover without a
// restart.
//
// Each opening draws the buffers of its store and what its calls are like (tests/support/draw.h).
//
// In a few more cases the fault is in the middle of a life, where there certainly are changes to
// recover.
//
// WQ_SEED is the seed. WQ_FAULT_EVERY is the distance between the calls that fail: 1 makes
// every call fail; without it about WQ_FAULT_TRIES (8) calls fail.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/failing_disk.h"
#include "tests/support/oracle.h"
#include "tests/support/real_store.h"

namespace wq::support {
namespace {

constexpr int kLives = 2;
constexpr uint64_t kCallsOfALife = 80;

// The present case, which a process that aborts or hangs prints at its end.
char g_case[256];

extern "C" void SayTheCase(int signal_number) {
  const char* what = signal_number == SIGALRM ? "\nHANG in " : "\nABORT in ";
  static_cast<void>(!write(STDERR_FILENO, what, strlen(what)));
  static_cast<void>(!write(STDERR_FILENO, g_case, strlen(g_case)));
  static_cast<void>(!write(STDERR_FILENO, "\n", 1));
  signal(SIGABRT, SIG_DFL);
  abort();
}

struct Kind {
  const char* name;
  int error;
  bool sticky;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class FailingCallsTest : public ::testing::TestWithParam<Kind> {
 protected:
  FailingCallsTest() {
    signal(SIGABRT, SayTheCase);
    signal(SIGALRM, SayTheCase);
  }
  ~FailingCallsTest() override {
    alarm(0);
    signal(SIGABRT, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
  }

  // Runs the scenario with its fault at call `at` on files. Returns whether the fault occurred.
  bool TryCase(uint64_t at);
  // Runs the scenario with its fault right after the store call number `call` of its first life.
  void TryInTheMidst(uint64_t call);
  void Run(const std::string& name, FailingDisk* disk);
  void Recover(RealStore* store, FailingDisk* disk, StoreSource* source, Life* life);
  void Live(const std::string& dir, FailingDisk* disk, Oracle* oracle, std::mt19937_64* random);
  bool RecoversThisTime() const { return breaks_after_ || cases_ % 3 != 0; }
  FailingDisk::Fault FaultAt(uint64_t at) const {
    return {.at = at,
            .error = GetParam().error,
            .sticky = GetParam().sticky,
            .calls = GetParam().error == ENOSPC ? FailingDisk::Calls::kChanges
                                                : FailingDisk::Calls::kAll};
  }

  const std::vector<QueueRules> rules_ = AllPolicies();
  uint64_t seed_ = 0;
  std::optional<uint64_t> breaks_after_;  // The number of calls of this life before the fault.
  uint64_t cases_ = 0;
  uint64_t calls_ = 0;  // Calls on files, of the last case.
  uint64_t not_durable_ = 0;
  uint64_t recovered_ = 0;
};

// The disk works again. The store recovers without a restart: all changes since the failure become
// durable, and so do later ones.
void FailingCallsTest::Recover(RealStore* store, FailingDisk* disk, StoreSource* source,
                               Life* life) {
  disk->Recover();
  const Status recovered = store->store()->Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.ToString();
  EXPECT_TRUE(store->store()->Health().ok());
  ++recovered_;
  for (uint64_t i = 0; i < kCallsOfALife / 4; ++i) {
    life->calls.push_back(source->Next());
    life->results.push_back(store->Do(life->calls.back()));
    ASSERT_NE(life->results.back(), kNotDurable);
  }
  life->calls.push_back({.queue = 0, .call = {.op = Op::kFlush}});
  life->results.push_back(store->Do(life->calls.back()));
}

// The work of one process, until its end or a failed opening.
void FailingCallsTest::Live(const std::string& dir, FailingDisk* disk, Oracle* oracle,
                            std::mt19937_64* random) {
  StoreSource source(rules_, (*random)(), {.flushes = 30, .power_calls = 100, .disk_fails = true});
  Life life{.calls = {}, .results = {}, .level = Durability::kProcess, .crash = CrashKind::kKill};
  {
    RealStore store(rules_, oracle->wall_us());
    const uint64_t failed_before = disk->failed();
    const Buffers buffers = Buffers::Draw(random);
    SCOPED_TRACE(buffers.ToString());
    const Status opened = store.Open(dir, life.level, buffers);
    if (!opened.ok()) {
      EXPECT_GT(disk->failed(), failed_before) << opened.ToString();
    }
    for (uint64_t i = 0; opened.ok() && i < kCallsOfALife; ++i) {
      if (breaks_after_ == i) {
        disk->Break(FaultAt(0));
      }
      life.calls.push_back(source.Next());
      life.results.push_back(store.Do(life.calls.back()));
      if (life.results.back() == kNotDurable) {
        ++not_durable_;
        EXPECT_GT(disk->failed(), failed_before) << "not durable, without a fault";
        EXPECT_FALSE(store.store()->Health().ok());
      }
    }
    if (opened.ok() && !store.store()->Health().ok() && RecoversThisTime()) {
      ASSERT_NO_FATAL_FAILURE(Recover(&store, disk, &source, &life));
    }
    if (opened.ok() && store.store()->Close().ok()) {
      // Close has made everything durable, as a flush does.
      life.calls.push_back({.queue = 0, .call = {.op = Op::kFlush}});
      life.results.emplace_back("ok");
    }
  }
  StoreImage found;
  const Status read = ReadStore(dir, rules_, &found);
  if (!read.ok() && GetParam().sticky && disk->failed() > 0) {
    disk->Recover();  // The reader's own calls fail, too.
    const Status again = ReadStore(dir, rules_, &found);
    ASSERT_TRUE(again.ok()) << again.ToString();
  } else if (!read.ok()) {
    const Status again = ReadStore(dir, rules_, &found);  // The fault was the reader's.
    ASSERT_TRUE(again.ok()) << read.ToString() << "; " << again.ToString();
  }
  ASSERT_EQ(oracle->Judge(life, found), "");
}

void FailingCallsTest::Run(const std::string& what, FailingDisk* disk) {
  const std::string name =
      std::string(GetParam().name) + ", " + what + ", WQ_SEED=" + std::to_string(seed_);
  std::snprintf(g_case, sizeof g_case, "%s", name.c_str());
  SCOPED_TRACE(name);
  ++cases_;
  alarm(1000);
  const ScratchDirectory root;
  std::mt19937_64 random(seed_);
  Oracle oracle(rules_, kStartWallUs);
  for (int life = 0; life < kLives && !HasFatalFailure(); ++life) {
    Live(root / "store", disk, &oracle, &random);
    breaks_after_.reset();
  }
  disk->Recover();
  if (!HasFatalFailure()) {
    Live(root / "store", disk, &oracle, &random);  // The disk works again.
  }
  calls_ = disk->calls();
  alarm(0);
}

bool FailingCallsTest::TryCase(uint64_t at) {
  FailingDisk disk(FaultAt(at));
  Run("call " + std::to_string(at) + " on files", &disk);
  return disk.failed() > 0;
}

void FailingCallsTest::TryInTheMidst(uint64_t call) {
  FailingDisk disk({});
  breaks_after_ = call;
  Run("after call " + std::to_string(call), &disk);
  EXPECT_GT(disk.failed(), 0U);
}

TEST_P(FailingCallsTest, NothingAcknowledgedIsLost) {
  seed_ = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed_ << "\n";
  TryCase(UINT64_MAX - 1);  // Counts the calls.
  const uint64_t tries = FromEnvironment("WQ_FAULT_TRIES", 8);
  const uint64_t every = FromEnvironment("WQ_FAULT_EVERY", std::max<uint64_t>(1, calls_ / tries));
  bool met = true;
  for (uint64_t at = seed_ % every; met && !HasFailure(); at += every) {
    met = TryCase(at);
  }
  EXPECT_GT(cases_, 3U);
  for (uint64_t call = seed_ % 16; call < kCallsOfALife && !HasFailure(); call += 16) {
    TryInTheMidst(call);
  }
  std::cout << "total: " << cases_ << " failing calls of about " << calls_ << ", " << not_durable_
            << " calls returned NotDurable, " << recovered_ << " stores recovered\n";
  EXPECT_GT(not_durable_, 0U);
  EXPECT_GT(recovered_, 0U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FailingCallsTest,
                         ::testing::Values(Kind{"EioOnce", EIO, false},
                                           Kind{"EioSticky", EIO, true},
                                           Kind{"EnospcOnce", ENOSPC, false},
                                           Kind{"EnospcSticky", ENOSPC, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq::support
