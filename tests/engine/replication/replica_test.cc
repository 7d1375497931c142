// Which replica owns the store: promotions, candidates, refused options; and what metrics show of
// it.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/engine/queue/metrics_fixture.h"
#include "tests/engine/replication/replicated_fixture.h"
#include "tests/support/faulty_log.h"
#include "wq/replicated_log.h"
#include "wq/store.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

using ReplicaTest = ReplicatedStoreFixture;

TEST_F(ReplicaTest, TheOwnerHandsOverToTheReplicaThatIsPromoted) {
  Queue* queue = nullptr;
  const std::unique_ptr<Store> a = OpenOwner("a", &queue);
  const std::unique_ptr<Store> b = Open("b");
  const std::unique_ptr<Store> c = Open("c");
  AwaitCaughtUp(b.get());
  AwaitCaughtUp(c.get());
  ASSERT_TRUE(log_->SetSuccessor("c").ok());
  ASSERT_TRUE(c->WaitForLeadership(support::kPatience).ok());
  EXPECT_FALSE(a->IsOwner());
  // It is no order for ever: the next resignation is free again.
  LogState state;
  ASSERT_TRUE(Eventually([&] { return log_->State(&state).ok() && state.successor.empty(); }));
  ASSERT_TRUE(c->Resign().ok());
  EXPECT_TRUE(Eventually([&] { return a->IsOwner() || b->IsOwner(); }));
}

TEST_F(ReplicaTest, APromotedReplicaThatIsNotThereDelaysTheNextOwnerByALease) {
  Queue* queue = nullptr;
  const std::unique_ptr<Store> a = OpenOwner("a", &queue);
  StoreOptions options = Options("b");
  options.replication->lease = 300ms;  // What it waits for. Whether it keeps it does not matter.
  const std::unique_ptr<Store> b = OpenWith("b", options);
  AwaitCaughtUp(b.get());
  const uint64_t epoch = a->Epoch();
  ASSERT_TRUE(log_->SetSuccessor("nobody").ok());
  EXPECT_TRUE(Eventually([&] { return std::max(a->Epoch(), b->Epoch()) > epoch; }));
  LogState state;
  EXPECT_TRUE(Eventually([&] { return log_->State(&state).ok() && state.successor.empty(); }));
}

// Resigned at once, an owner may have come and gone before the last one looks at the log again.
TEST_F(ReplicaTest, HandoversInARowNeverTakeALease) {
  constexpr uint64_t kHandovers = 300;
  std::atomic<uint64_t> handovers{0};
  std::vector<std::unique_ptr<Store>> stores;
  for (const char* name : {"a", "b", "c"}) {
    StoreOptions options = Options(name);
    options.replication->lease = 1h;
    stores.push_back(OpenWith(name, options));
    ASSERT_TRUE(stores[0]->WaitForLeadership(support::kPatience).ok());
    AwaitCaughtUp(stores.back().get());
  }
  std::vector<std::thread> threads;
  for (const auto& store : stores) {
    threads.emplace_back([&handovers, store = store.get()] {
      while (store->WaitForLeadership(1h).ok()) {
        if (store->Resign().ok()) ++handovers;
      }
    });
  }
  bool in_time = true;
  for (uint64_t seen = 0; seen < kHandovers && in_time; ++seen) {
    in_time = Eventually([&] { return handovers > seen; });
    EXPECT_TRUE(in_time) << "after " << seen;
  }
  for (const auto& store : stores) static_cast<void>(store->Close());
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ReplicaTest, AnOwnershipThatCouldNotBeginIsNotALeaseWithoutAnOwner) {
  const auto link = std::make_shared<support::FaultyLog>(log_);
  std::atomic<int> refusals{1};
  link->SetHook([&](std::string_view call) {
    return call == "CommitCheckpoint" && refusals-- > 0 ? support::FaultyLog::Fault::kQuota
                                                        : support::FaultyLog::Fault::kNone;
  });
  log_ = link;
  StoreOptions options = Options("a");
  options.replication->lease = 1h;
  const std::unique_ptr<Store> store = OpenWith("a", options);
  EXPECT_TRUE(store->WaitForLeadership(support::kPatience).ok());
  EXPECT_LT(refusals, 0);
}

TEST_F(ReplicaTest, AnOwnershipThatHasEndedKeepsNoFileOpen) {
  const auto files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  StoreOptions options = Options("a");
  options.replication->lease = 1h;
  options.history_bytes = uint64_t{1} << 20;
  const std::unique_ptr<Store> store = OpenWith("a", options);
  std::ptrdiff_t first = 0;
  std::ptrdiff_t last = 0;
  for (int i = 0; i < 5; ++i) {
    Queue* queue = nullptr;
    Lead(store.get(), &queue);
    ASSERT_TRUE(queue->Add("key-" + std::to_string(i)).ok());
    ASSERT_TRUE(store->Resign().ok());
    last = files();
    if (i == 0) first = last;
    // So that it owns the log again at once, and not after a lease.
    ASSERT_TRUE(log_->SetSuccessor("a").ok());
  }
  EXPECT_LE(last, first + 2);  // RocksDB's may change.
}

// --- A first opening that fails, or is killed ---

class FirstOpeningTest : public ReplicatedStoreFixture {
 protected:
  FirstOpeningTest() { log_ = link_; }
  // One opening of `dir`, of which the call `call` fails.
  Status OpenWithFault(const std::string& dir, std::string_view call,
                       support::FaultyLog::Fault fault) {
    link_->SetHook([=](std::string_view called) {
      return called == call ? fault : support::FaultyLog::Fault::kNone;
    });
    std::unique_ptr<Store> store;
    Status s = Store::Open(Options("a"), Dir(dir), &store);
    link_->SetHook([](std::string_view) { return support::FaultyLog::Fault::kNone; });
    return s;
  }
  // The log can be used: by this replica, and then by a fresh one.
  void ExpectUsable(const std::string& dir) {
    Queue* queue = nullptr;
    const std::unique_ptr<Store> first = OpenWith(dir, Options("a"));
    Lead(first.get(), &queue);
    ASSERT_TRUE(queue->Add("key", {.durability = Durability::kReplicated}).ok());
    const std::unique_ptr<Store> second = Open("second");
    AwaitCaughtUp(second.get());
    ASSERT_TRUE(first->Close().ok());
    Lead(second.get(), &queue);
    EXPECT_THAT(Drain(queue), testing::ElementsAre("key"));
    EXPECT_FALSE(std::filesystem::exists(Dir(dir) + "/CLAIM"));
    EXPECT_FALSE(std::filesystem::exists(Dir("second") + "/CLAIM"));
  }

  const std::shared_ptr<support::FaultyLog> link_ =
      std::make_shared<support::FaultyLog>(MakeMemoryLog());
};

TEST_F(FirstOpeningTest, WithoutTheParentDirectoryLeavesTheLogAsItIs) {
  EXPECT_EQ(OpenWithFault("missing/a", "", {}).code(), StatusCode::kIOError);
  LogState state;
  ASSERT_TRUE(log_->State(&state).ok());
  EXPECT_EQ(state.store_uuid, "");
  ExpectUsable("a");
}

TEST_F(FirstOpeningTest, ThatFailsBeforeOrAfterTheClaimIsContinuedByTheNext) {
  using Fault = support::FaultyLog::Fault;
  EXPECT_EQ(OpenWithFault("a", "Claim", Fault::kBefore).code(), StatusCode::kIOError);
  EXPECT_EQ(OpenWithFault("a", "Claim", Fault::kAfter).code(), StatusCode::kIOError);
  EXPECT_EQ(OpenWithFault("a", "State", Fault::kBefore).code(), StatusCode::kIOError);
  ExpectUsable("a");
}

// The state at the kill is what a call that does not return leaves: the copy is taken there.
TEST_F(FirstOpeningTest, ThatIsKilledAtAnyCallIsContinuedByTheNext) {
  for (int kill_at = 1; kill_at <= 3; ++kill_at) {
    SCOPED_TRACE(kill_at);
    const std::string dir = "killed-" + std::to_string(kill_at);
    const std::string copy = "copy-" + std::to_string(kill_at);
    std::filesystem::remove_all(Dir("second"));
    ASSERT_TRUE(log_->Destroy(true).ok());
    int calls = 0;
    link_->SetHook([&](std::string_view) {
      if (++calls == kill_at) std::filesystem::copy(Dir(dir), Dir(copy));
      return calls >= kill_at ? support::FaultyLog::Fault::kBefore
                              : support::FaultyLog::Fault::kNone;
    });
    std::unique_ptr<Store> store;
    EXPECT_EQ(Store::Open(Options("a"), Dir(dir), &store).code(), StatusCode::kIOError);
    link_->SetHook([](std::string_view) { return support::FaultyLog::Fault::kNone; });
    ExpectUsable(copy);
  }
}

// Of two that open at once, one claims the log between the other's two steps.
TEST_F(FirstOpeningTest, OfALogThatBecameAnotherStoresMakesAReplicaOfThat) {
  EXPECT_EQ(OpenWithFault("b", "Claim", support::FaultyLog::Fault::kBefore).code(),
            StatusCode::kIOError);
  const std::unique_ptr<Store> a = Open("a");
  ASSERT_TRUE(a->WaitForLeadership(support::kPatience).ok());
  const std::unique_ptr<Store> b = Open("b");
  EXPECT_EQ(b->uuid(), a->uuid());
  AwaitCaughtUp(b.get());
}

TEST_F(FirstOpeningTest, ThatWasGivenUpIsForgottenByAnOrdinaryOne) {
  EXPECT_EQ(OpenWithFault("a", "Claim", support::FaultyLog::Fault::kAfter).code(),
            StatusCode::kIOError);
  std::unique_ptr<Store> plain;
  ASSERT_TRUE(Store::Open({.create_if_missing = true}, Dir("a"), &plain).ok());
  EXPECT_FALSE(std::filesystem::exists(Dir("a") + "/CLAIM"));
  ASSERT_TRUE(plain->Close().ok());
  std::unique_ptr<Store> store;
  EXPECT_EQ(Store::Open(Options("a"), Dir("a"), &store).code(), StatusCode::kInvalidArgument);
}

TEST_F(FirstOpeningTest, WhoseDirectoryIsLostIsNamedWithTheWayOut) {
  EXPECT_EQ(OpenWithFault("a", "Claim", support::FaultyLog::Fault::kAfter).code(),
            StatusCode::kIOError);
  std::filesystem::remove_all(Dir("a"));
  {
    const std::unique_ptr<Store> b = Open("b");
    ASSERT_TRUE(Eventually([&] { return !b->Health().ok(); }));
    EXPECT_THAT(b->Health().message(), HasSubstr("wqctl replication destroy"));
  }
  ASSERT_TRUE(log_->Destroy(false).ok());
  ExpectUsable("a");
}

TEST_F(ReplicaTest, ALogOfAnotherStoreIsNotFollowed) {
  Queue* queue = nullptr;
  std::unique_ptr<Store> a = OpenOwner("a", &queue);
  ASSERT_TRUE(queue->Add("of a", {.durability = Durability::kReplicated}).ok());
  ASSERT_TRUE(a->Close().ok());
  log_ = MakeMemoryLog();  // As a wrong prefix.
  const std::unique_ptr<Store> other = OpenOwner("b", &queue);
  ASSERT_TRUE(queue->Add("of b", {.durability = Durability::kReplicated}).ok());
  a = Open("a");
  EXPECT_TRUE(Eventually([&] { return !a->Health().ok(); }));
  EXPECT_THAT(a->Health().message(), HasSubstr(other->uuid()));
  EXPECT_THAT(a->Health().message(), HasSubstr(a->uuid()));
  ASSERT_TRUE(other->Close().ok());
  EXPECT_EQ(a->WaitForLeadership(300ms).code(), StatusCode::kTimedOut);
}

TEST_F(ReplicaTest, ALogThatHasLostEntriesIsNotFollowed) {
  Queue* queue = nullptr;
  std::unique_ptr<Store> a = OpenOwner("a", &queue);
  ASSERT_TRUE(queue->Add("key", {.durability = Durability::kReplicated}).ok());
  std::string uuid = a->uuid();
  ASSERT_TRUE(a->Close().ok());
  log_ = MakeMemoryLog();  // As an etcd that was restored from before the first entry.
  ASSERT_TRUE(log_->Claim(&uuid).ok());
  a = Open("a");
  EXPECT_TRUE(Eventually([&] { return a->Health().code() == StatusCode::kCorruption; }));
  EXPECT_THAT(a->Health().message(), HasSubstr("older state"));
  EXPECT_FALSE(a->IsOwner());
}

TEST_F(ReplicaTest, OneThatIsNoCandidateOnlyFollows) {
  StoreOptions options = Options("b");
  options.replication->candidate = false;
  Queue* queue = nullptr;
  const std::unique_ptr<Store> a = OpenOwner("a", &queue);
  const std::unique_ptr<Store> b = OpenWith("b", options);
  AwaitCaughtUp(b.get());
  ASSERT_TRUE(a->Close().ok());
  EXPECT_EQ(b->WaitForLeadership(500ms).code(), StatusCode::kTimedOut);
}

TEST_F(ReplicaTest, OptionsThatCannotWorkAreRefusedAndNamed) {
  const auto open = [this](const auto& change) {
    StoreOptions options = Options("a");
    change(&*options.replication);
    std::unique_ptr<Store> store;
    return Store::Open(options, Dir("a"), &store);
  };
  Status s = open([](Replication* replication) { replication->log = nullptr; });
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("log"));
  s = open([](Replication* replication) { replication->name = "a/b"; });
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("a/b"));
  s = open([](Replication* replication) { replication->lease = 10ms; });
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("10 ms"));
  s = open([](Replication* replication) { replication->lease_margin = replication->lease / 2; });
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  std::unique_ptr<Store> store;
  EXPECT_EQ(Store::OpenInMemory(Options("a"), &store).code(), StatusCode::kInvalidArgument);
}

TEST_F(ReplicaTest, ItsGaugesShowWhetherItOwnsAndHowFarItIs) {
  const auto provider = std::make_shared<FakeProvider>();
  StoreOptions options = Options("b");
  options.metrics = provider;
  Queue* queue = nullptr;
  const std::unique_ptr<Store> a = OpenOwner("a", &queue);
  std::unique_ptr<Store> b = OpenWith("b", options);
  ASSERT_TRUE(queue->Add("key", {.durability = Durability::kReplicated}).ok());
  AwaitCaughtUp(b.get());
  const auto gauge = [&](const std::string& name) {
    return provider->Scrape()[name + "{store=" + Dir("b") + "}"];
  };
  EXPECT_EQ(gauge("wq_replica_owner"), 0);
  EXPECT_EQ(gauge("wq_replica_epoch"), 0);
  EXPECT_EQ(gauge("wq_replica_log_healthy"), 1);
  EXPECT_GE(gauge("wq_replica_applied_entry"), 2);
  EXPECT_LT(gauge("wq_replica_behind_seconds"), 20);
  ASSERT_TRUE(a->Resign().ok());
  ASSERT_TRUE(b->WaitForLeadership(support::kPatience).ok());
  EXPECT_EQ(gauge("wq_replica_owner"), 1);
  EXPECT_EQ(gauge("wq_replica_epoch"), static_cast<double>(b->Epoch()));
  ASSERT_TRUE(b->Close().ok());
  EXPECT_EQ(provider->Scrape().count("wq_replica_owner{store=" + Dir("b") + "}"), 0U);
}

}  // namespace
}  // namespace wq
