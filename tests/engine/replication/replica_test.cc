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
#include "tests/support/memory_log.h"
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
      std::make_shared<support::FaultyLog>(std::make_shared<support::MemoryLog>());
};

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

TEST_F(FirstOpeningTest, WhoseDirectoryIsLostIsNamedWithTheWayOut) {
  link_->FailNext(1, support::FaultyLog::Fault::kAfter);
  std::unique_ptr<Store> none;
  EXPECT_EQ(Store::Open(Options("a"), Dir("a"), &none).code(), StatusCode::kIOError);
  std::filesystem::remove_all(Dir("a"));
  {
    const std::unique_ptr<Store> b = Open("b");
    ASSERT_TRUE(Eventually([&] { return !b->Health().ok(); }));
    EXPECT_THAT(b->Health().message(), HasSubstr("wqctl replication destroy"));
  }
  ASSERT_TRUE(log_->Destroy(false).ok());
  ExpectUsable("a");
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
