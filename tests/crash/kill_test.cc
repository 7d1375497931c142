// A process that works on a store is killed with SIGKILL at random instants, one time in three
// while it still recovers from the last kill; the oracle judges the contents of the disk.
//
// Each process draws the buffers of its store and what its calls are like: the sizes of its keys
// and batches, how often its queues are closed, deleted and opened again with other options. The
// store has a queue of every order policy, or one queue alone. What survives is a prefix of the
// calls over all queues, in their order, with no hole and no half call; and at kProcess and above
// it ends at or after the last acknowledged call that waits for the disk. No disk fails, so no call
// returns NotDurable. (Get writes nothing and Done may be written later:
// their loss repeats a reconcile.)
//
// WQ_SEED is the seed (a failing run prints its own), WQ_KILL_ROUNDS the number of kills.

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/oracle.h"
#include "tests/support/real_store.h"
#include "tests/support/wait.h"

namespace wq::support {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// After so many kills a new store is created, so that creation is tested, too.
constexpr uint64_t kRoundsOfAStore = 45;

microseconds Since(steady_clock::time_point then) {
  return std::chrono::duration_cast<microseconds>(steady_clock::now() - then);
}

class KillTest : public ::testing::TestWithParam<Durability> {
 protected:
  void Round(uint64_t round);
  void KillInRecovery(Child* child);
  void KillAtWork(Child* child);

  std::vector<QueueRules> rules_;
  std::mt19937_64 random_;
  std::optional<ScratchDirectory> root_;
  std::optional<Oracle> oracle_;
  microseconds opening_{5000};  // A moving average of the time that an opening takes.
  uint64_t acknowledged_ = 0;
  uint64_t in_recovery_ = 0;
};

void KillTest::KillInRecovery(Child* child) {
  ASSERT_TRUE(child->ReadUntil("o\n"));
  const auto begun = steady_clock::now();
  const microseconds patience(random_() % static_cast<uint64_t>(opening_.count() + 1));
  while (Since(begun) < patience && child->Read(patience - Since(begun))) {
  }
  child->Signal(SIGKILL);
}

void KillTest::KillAtWork(Child* child) {
  ASSERT_TRUE(child->ReadUntil("o\n"));
  const auto begun = steady_clock::now();
  if (child->ReadUntil("r\n")) {
    opening_ = (opening_ * 7 + Since(begun)) / 8;
  }
  // The kill is after a random number of bytes of reports, so no sleep is needed.
  const size_t bytes = child->output().size() + random_() % 8000;
  while (child->output().size() < bytes && child->Read(support::kPatience)) {
  }
  child->Signal(SIGKILL);
}

void KillTest::Round(uint64_t round) {
  if (round % kRoundsOfAStore == 0) {
    root_.emplace();
    rules_ = PoliciesOf(round / kRoundsOfAStore);
    oracle_.emplace(rules_, kStartWallUs);
  }
  const std::string dir = *root_ / "store";
  const uint64_t seed = random_();
  const std::string buffers = Buffers::Draw(&random_).ToString();
  StoreSource source(rules_, seed, {});
  SCOPED_TRACE("round " + std::to_string(round) + ", " + buffers + "\n" + source.ToString());
  Child child({support::ProgramBesideThis("kill_child"), dir, std::to_string(seed),
               std::to_string(oracle_->wall_us()), std::to_string(static_cast<int>(GetParam())),
               std::to_string(round / kRoundsOfAStore), buffers, "sound"});
  const bool in_recovery = random_() % 10 < 3;
  if (in_recovery) {
    KillInRecovery(&child);
  } else {
    KillAtWork(&child);
  }
  ASSERT_TRUE(WIFSIGNALED(child.Wait())) << "the child ended by itself";
  in_recovery_ += child.output().find("r\n") == std::string::npos ? 1 : 0;

  Life life = ReadReports(child.output(), source);
  life.level = GetParam();
  acknowledged_ += life.results.size();
  EXPECT_EQ(std::count(life.results.begin(), life.results.end(), kNotDurable), 0)
      << "no disk fails";
  StoreImage found;
  const Status read = ReadStore(dir, rules_, &found);
  ASSERT_TRUE(read.ok()) << read.ToString();
  ASSERT_EQ(oracle_->Judge(life, found), "");
}

TEST_P(KillTest, WhatSurvivesIsAPrefixWithAllThatWasAcknowledged) {
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_KILL_ROUNDS", 90);
  std::cout << "replay with WQ_SEED=" << seed << " WQ_KILL_ROUNDS=" << rounds << "\n";
  random_.seed(seed);
  uint64_t round = 0;
  for (; round < rounds && !HasFatalFailure(); ++round) {
    Round(round);
  }
  std::cout << "total: " << round << " kills, " << in_recovery_ << " of them in recovery, "
            << acknowledged_ << " acknowledged calls\n";
}

INSTANTIATE_TEST_SUITE_P(Durabilities, KillTest,
                         ::testing::Values(Durability::kAsync, Durability::kProcess,
                                           Durability::kPower),
                         [](const auto& info) {
                           return std::string(info.param == Durability::kAsync     ? "Async"
                                              : info.param == Durability::kProcess ? "Process"
                                                                                   : "Power");
                         });

}  // namespace
}  // namespace wq::support
