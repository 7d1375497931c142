// Processes that are the replicas of one store, members of etcd, random faults of both: whatever
// is killed, stopped or wiped, nothing that was acknowledged is lost, and no two owners hand out
// keys at once.
//
// WQ_SEED: of the faults. WQ_FAILOVERS: how many changes of the owner; default: 8.
// WQ_FAILOVER_LEASE_MS: default: 2000.

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>

#include <gmock/gmock.h>

#include "tests/etcd/cluster.h"
#include "tests/failover/oracle.h"
#include "tests/failover/replicas.h"
#include "tests/support/environment.h"
#include "wq/entry.h"
#include "wq/etcd_log.h"
#include "wq/options.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wq::failover {
namespace {

using namespace std::chrono_literals;
using Seen = Oracle::Seen;

constexpr std::chrono::milliseconds kPatience{60'000};
constexpr size_t kReplicas = 3;

enum class Fault : uint8_t {
  // The owner changes.
  kKillOwner,
  kStopOwner,
  kResign,
  kPromote,
  kKillOwnerAndLeader,
  kKillOwnerAndStopMember,
  kKillAll,
  // The owner should stay, but may change.
  kKillReplica,
  kWipeReplica,
  kKillMember,
  kStopMember,
  kKillLeader,
};
constexpr size_t kFaults = 12;

const char* TextOf(Fault fault) {
  constexpr const char* kTexts[kFaults] = {"kill the owner",
                                           "stop the owner",
                                           "resign",
                                           "promote",
                                           "kill owner and etcd's leader",
                                           "kill owner, stop a member of etcd",
                                           "kill all replicas",
                                           "kill a replica",
                                           "wipe a replica",
                                           "kill a member of etcd",
                                           "stop a member of etcd",
                                           "kill etcd's leader"};
  return kTexts[static_cast<size_t>(fault)];
}

class FailoverTest : public testing::Test {
 protected:
  FailoverTest()
      : lease_(support::FromEnvironment("WQ_FAILOVER_LEASE_MS", 2000)),
        etcd_({.members = 3}),
        replicas_(etcd_.Options("/wq/failover"), kReplicas, lease_) {
    EXPECT_TRUE(OpenEtcdLog(etcd_.Options("/wq/failover"), &log_).ok());
  }

  Oracle& oracle() { return replicas_.oracle(); }
  bool Await(const std::function<bool(const Seen&)>& true_now) {
    return oracle().Await(kPatience, true_now);
  }

  // Waits until each replica has what the log has now.
  bool AwaitCaughtUp() {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    LogState begin;
    while (!log_->State(&begin).ok() && std::chrono::steady_clock::now() < until) {
    }
    for (;;) {
      LogState now;
      const Status s = log_->State(&now);
      const bool all =
          s.ok() && now.replicas.size() == kReplicas &&
          std::all_of(now.replicas.begin(), now.replicas.end(),
                      [&](const LogReplica& each) { return each.applied >= begin.last; });
      if (all) return true;
      if (std::chrono::steady_clock::now() > until) return false;
      poll(nullptr, 0, 20);
    }
  }

  // Some calls at kReplicated succeed.
  bool AwaitProgress() {
    const uint64_t before = oracle().Now().acknowledged;
    return Await([=](const Seen& seen) { return seen.acknowledged >= before + 20; });
  }

  size_t Owner() { return Replicas::IndexOf(oracle().Now().Owner()); }
  size_t Random(size_t count) { return static_cast<size_t>(random_() % count); }
  size_t OtherReplica() { return (Owner() + 1 + Random(kReplicas - 1)) % kReplicas; }

  // True: the owner has to change.
  bool Make(Fault fault);
  void StopMember();
  void Mend();
  bool Round(Fault fault);
  void Follow(size_t replica);
  void Finish();
  static std::string Difference(const std::string& left, const std::string& right);

  const std::chrono::milliseconds lease_;
  EtcdCluster etcd_;
  Replicas replicas_;
  std::shared_ptr<ReplicatedLog> log_;
  std::mt19937_64 random_;
  std::string successor_;  // Of the last promotion.
  std::vector<size_t> stopped_replicas_;
  std::vector<size_t> stopped_members_;
};

void FailoverTest::StopMember() {
  stopped_members_.push_back(Random(etcd_.size()));
  etcd_.Stop(stopped_members_.back());
}

bool FailoverTest::Make(Fault fault) {
  const size_t owner = Owner();
  switch (fault) {
    case Fault::kKillOwner:
      replicas_.Kill(owner);
      return true;
    case Fault::kStopOwner:
      replicas_.Stop(owner);
      stopped_replicas_.push_back(owner);
      return true;
    case Fault::kResign:
      replicas_.Signal(owner, SIGUSR1);
      return true;
    case Fault::kPromote: {
      successor_ = Replicas::NameOf(OtherReplica());
      const Status s = log_->SetSuccessor(successor_);
      EXPECT_TRUE(s.ok()) << s.ToString();
      return true;
    }
    case Fault::kKillOwnerAndLeader: {
      const size_t leader = etcd_.Leader();
      replicas_.Kill(owner);
      etcd_.Kill(leader % etcd_.size());
      return true;
    }
    case Fault::kKillOwnerAndStopMember:
      replicas_.Kill(owner);
      StopMember();
      return true;
    case Fault::kKillAll:
      for (size_t i = 0; i < kReplicas; ++i) replicas_.Signal(i, SIGKILL);
      for (size_t i = 0; i < kReplicas; ++i) replicas_.Kill(i);
      replicas_.StartAll();
      return true;
    case Fault::kKillReplica:
    case Fault::kWipeReplica: {
      const size_t replica = OtherReplica();
      replicas_.Kill(replica);
      if (fault == Fault::kWipeReplica) replicas_.Wipe(replica);
      return false;
    }
    case Fault::kKillMember:
      etcd_.Kill(Random(etcd_.size()));
      return false;
    case Fault::kStopMember:
      StopMember();
      return false;
    case Fault::kKillLeader:
      etcd_.Kill(etcd_.Leader() % etcd_.size());
      return false;
  }
  return false;
}

void FailoverTest::Mend() {
  for (const size_t replica : stopped_replicas_) replicas_.Signal(replica, SIGCONT);
  stopped_replicas_.clear();
  for (const size_t member : stopped_members_) etcd_.Continue(member);
  stopped_members_.clear();
  for (size_t i = 0; i < etcd_.size(); ++i) etcd_.Launch(i);
  etcd_.WaitUntilHealthy();
  replicas_.StartAll();
}

// False: the harness gives up.
bool FailoverTest::Round(Fault fault) {
  if (!AwaitProgress() || !AwaitCaughtUp()) {
    ADD_FAILURE() << "no progress before: " << TextOf(fault);
    return false;
  }
  const uint64_t epoch = oracle().Now().LastEpoch();
  if (Make(fault)) {
    if (!Await([=](const Seen& seen) { return seen.NextHandOutUs(epoch) != INT64_MAX; })) {
      ADD_FAILURE() << "no hand-out after: " << TextOf(fault) << " in epoch " << epoch;
      return false;
    }
    if (fault == Fault::kPromote) {
      EXPECT_EQ(oracle().Now().Owner(), successor_);
    }
  } else if (!AwaitProgress()) {
    ADD_FAILURE() << "no progress after: " << TextOf(fault);
    return false;
  }
  Mend();
  for (size_t i = 0; i < kReplicas; ++i) {
    if (replicas_.Reap(i, 0ms) != -1) {
      ADD_FAILURE() << Replicas::NameOf(i) << " has ended by itself after: " << TextOf(fault);
      return false;
    }
  }
  const std::vector<std::string> wrong = oracle().Verdict();
  EXPECT_THAT(wrong, testing::IsEmpty()) << "after: " << TextOf(fault);
  return wrong.empty();
}

// What a store has of a key in one state.
std::string TextOf(const std::string& queue, const Entry& entry) {
  std::ostringstream text;
  text << queue << "/" << entry.key << " " << EntryStateName(entry.state) << " " << entry.lane
       << " " << entry.group << " " << entry.sequence << " " << entry.added_at_us << " "
       << entry.ready_at_us << " " << entry.delay_us << " " << entry.debounced << entry.resync
       << " " << entry.quarantined_at_us;
  if (entry.failures) text << " " << entry.failures->count << " " << entry.failures->last_error;
  return text.str();
}

// The first difference of two stores, entry by entry; empty: none.
std::string FailoverTest::Difference(const std::string& left, const std::string& right) {
  std::array<std::set<std::string>, 2> sides;
  for (const auto& [side, dir] : {std::pair(&sides[0], left), std::pair(&sides[1], right)}) {
    std::unique_ptr<StoreView> view;
    if (Status s = StoreView::Open(dir, &view); !s.ok()) return s.ToString();
    for (const std::string& queue : view->QueueNames()) {
      const Status s = view->ForEachEntry(queue, [&](const Entry& entry) {
        side->insert(TextOf(queue, entry));
        return true;
      });
      if (!s.ok()) return s.ToString();
    }
  }
  std::vector<std::string> differ;
  std::set_symmetric_difference(sides[0].begin(), sides[0].end(), sides[1].begin(), sides[1].end(),
                                std::back_inserter(differ));
  return differ.empty() ? "" : differ.front() + " differs";
}

// Has the replica, which does not run, follow the log to its end.
void FailoverTest::Follow(size_t replica) {
  Replication replication;
  replication.log = log_;
  replication.name = Replicas::NameOf(replica);
  replication.candidate = false;
  std::unique_ptr<Store> store;
  const Status s = Store::Open({.replication = replication}, replicas_.Dir(replica), &store);
  ASSERT_TRUE(s.ok()) << s.ToString();
  LogState state;
  ASSERT_TRUE(log_->State(&state).ok());
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (store->Replica().applied < state.last && std::chrono::steady_clock::now() < until) {
    poll(nullptr, 0, 10);
  }
  EXPECT_EQ(store->Replica().applied, state.last) << store->Replica().log.ToString();
  EXPECT_TRUE(store->Close().ok());
}

// No more faults: everything is handed out. Then keys are only added, all end, and have the same.
void FailoverTest::Finish() {
  ASSERT_TRUE(AwaitProgress());
  ASSERT_TRUE(AwaitCaughtUp());  // One that was just started would end by the signal.
  for (size_t i = 0; i < kReplicas; ++i) replicas_.Signal(i, SIGUSR2);
  ASSERT_TRUE(Await([](const Seen& seen) { return seen.modes == kReplicas; }));
  EXPECT_TRUE(Await([](const Seen& seen) { return seen.unseen == 0; }))
      << oracle().Now().unseen << " keys are not handed out";
  for (size_t i = 0; i < kReplicas; ++i) replicas_.Signal(i, SIGUSR2);
  ASSERT_TRUE(Await([](const Seen& seen) { return seen.unseen > 200; }));
  ASSERT_TRUE(AwaitCaughtUp());
  const size_t owner = Owner();  // The last to end, so that none of the others takes over.
  for (size_t i = 1; i <= kReplicas; ++i) {
    const size_t replica = (owner + i) % kReplicas;
    replicas_.Signal(replica, SIGTERM);
    EXPECT_EQ(replicas_.Reap(replica, kPatience), 0) << Replicas::NameOf(replica);
  }
  for (size_t i = 1; i < kReplicas; ++i) {
    const size_t replica = (owner + i) % kReplicas;
    Follow(replica);
    EXPECT_EQ(Difference(replicas_.Dir(owner), replicas_.Dir(replica)), "");
  }
  std::set<std::string> missing = oracle().Unseen();
  EXPECT_GT(missing.size(), 200U);
  std::unique_ptr<StoreView> view;
  ASSERT_TRUE(StoreView::Open(replicas_.Dir(owner), &view).ok());
  ASSERT_TRUE(view->ForEachEntry("pods",
                                 [&](const Entry& entry) {
                                   missing.erase(entry.key);
                                   return true;
                                 })
                  .ok());
  EXPECT_THAT(missing, testing::IsEmpty()) << "acknowledged, and lost";
  EXPECT_THAT(oracle().Verdict(), testing::IsEmpty());
}

TEST_F(FailoverTest, NothingAcknowledgedIsLostAndNoTwoOwnersHandOutAtOnce) {
  const uint64_t seed = support::Seed();
  const uint64_t failovers = support::FromEnvironment("WQ_FAILOVERS", 8);
  std::cout << "WQ_SEED=" << seed << std::endl;
  random_.seed(seed);
  replicas_.StartAll();
  bool works = true;
  for (uint64_t done = 0; done < failovers && works;) {
    const auto fault = static_cast<Fault>(Random(kFaults));
    std::cout << "  epoch " << oracle().Now().LastEpoch() << ": " << TextOf(fault) << std::endl;
    works = Round(fault);
    done += fault < Fault::kKillReplica ? 1 : 0;
  }
  if (works) Finish();
}

}  // namespace
}  // namespace wq::failover
