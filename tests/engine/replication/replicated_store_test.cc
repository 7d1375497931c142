// Stores that are replicas of one log in memory: how a store uses what the simulation of
// tests/replication checks.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/engine/replication/replicated_fixture.h"
#include "tests/support/faulty_log.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/replicated_log.h"
#include "wq/source.h"
#include "wq/store.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ReplicatedStoreTest = ReplicatedStoreFixture;

TEST_F(ReplicatedStoreTest, ATakeoverKeepsEverythingAndHandsOutWhatWasProcessingFirst) {
  Queue* queue = nullptr;
  const QueueOptions options = {
      .order = Order::kTwoLanes,
      .max_requeues = 1,
      .limiter = std::make_shared<ItemExponentialFailure>(std::chrono::hours(1), 1000h)};
  std::unique_ptr<Store> owner = OpenOwner("a", &queue, options);
  const std::unique_ptr<Store> replica = Open("b");
  const AddOptions replicated = {.durability = Durability::kReplicated};
  for (const char* key : {"first", "second", "third"}) {
    ASSERT_TRUE(queue->Add(key, replicated).ok());
  }
  ASSERT_TRUE(queue->Add("slow", {.lane = kSlowLane}).ok());
  ASSERT_TRUE(queue->AddAfter("later", 1h).ok());
  std::string key;
  ASSERT_TRUE(queue->Get(&key).ok());
  ASSERT_TRUE(queue->AddRateLimited("failing", "why").ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(queue->AddRateLimited("bad", "broken").ok());
  ASSERT_TRUE(queue->SetCursor("source", "42").ok());
  Source pods;
  std::unique_ptr<SourceList> list;
  ASSERT_TRUE(queue->OpenSource("pods", &pods).ok());
  for (const char* object : {"same", "gone"}) {
    ASSERT_TRUE(pods.Observe({.object = object, .version = "1", .tombstone = "t"}).ok());
  }
  ASSERT_TRUE(pods.BeginList({}, &list).ok());
  ASSERT_TRUE(queue->Flush(Durability::kReplicated).ok());
  const uint64_t epoch = owner->Epoch();
  ASSERT_TRUE(owner->Resign().ok());

  Queue* next = nullptr;
  Lead(replica.get(), &next, options);
  EXPECT_GT(replica->Epoch(), epoch);
  EXPECT_TRUE(next->IsQuarantined("bad"));
  EXPECT_EQ(next->NumRequeues("failing"), 1U);
  EXPECT_EQ(next->Counts().delayed, 2U);
  std::string cursor;
  ASSERT_TRUE(next->GetCursor("source", &cursor).ok());
  EXPECT_EQ(cursor, "42");
  SeenObject gone;
  EXPECT_EQ(pods.Observe({.object = "same"}).code(), StatusCode::kNotOwner);
  EXPECT_FALSE(list->NextDeleted(&gone).ok());
  ASSERT_TRUE(next->OpenSource("pods", &pods).ok());
  ASSERT_TRUE(pods.BeginList({}, &list).ok());
  ObserveResult result;
  ASSERT_TRUE(list->Observe({.object = "same", .version = "1"}, {}, &result).ok());
  EXPECT_FALSE(result.changed);
  ASSERT_TRUE(list->NextDeleted(&gone).ok());
  EXPECT_EQ(gone.object + gone.tombstone, "gonet");
  ASSERT_TRUE(list->End().ok());
  ASSERT_TRUE(next->CancelDelay("failing").ok());
  EXPECT_THAT(Drain(next), ElementsAre("first", "second", "third", "slow"));
}

TEST_F(ReplicatedStoreTest, AQueueOfAnEndedOwnershipReturnsNotOwnerForGood) {
  Queue* queue = nullptr;
  const std::unique_ptr<Store> store = OpenOwner("a", &queue);
  ASSERT_TRUE(queue->Add("key").ok());
  const uint64_t epoch = store->Epoch();
  std::string key;
  ASSERT_TRUE(queue->Get(&key).ok());
  std::future<StatusCode> waiting = std::async(std::launch::async, [queue] {
    std::string none;
    return queue->Get(&none).code();
  });
  ASSERT_TRUE(store->Resign().ok());
  EXPECT_EQ(waiting.get(), StatusCode::kNotOwner);
  EXPECT_EQ(queue->Get(&key).code(), StatusCode::kNotOwner);
  EXPECT_EQ(queue->Add("other").code(), StatusCode::kNotOwner);
  EXPECT_EQ(queue->Done("key").code(), StatusCode::kNotOwner);
  ASSERT_TRUE(log_->SetSuccessor("a").ok());  // So that it owns the store again at once.
  Queue* again = nullptr;
  Lead(store.get(), &again);
  EXPECT_GT(store->Epoch(), epoch);
  EXPECT_EQ(queue->Add("other").code(), StatusCode::kNotOwner);
  EXPECT_THAT(Drain(again), ElementsAre("key"));
}

// Without one a replica could not go on from what the owner has had replicated.
TEST_F(ReplicatedStoreTest, AnOwnershipBeginsWithACheckpointInTheLog) {
  const auto link = std::make_shared<support::FaultyLog>(log_);
  std::atomic<bool> full{true};
  std::atomic<int> refused{0};
  link->SetHook([&](std::string_view call) {
    if (call != "CommitCheckpoint" || !full) return support::FaultyLog::Fault::kNone;
    ++refused;
    return support::FaultyLog::Fault::kQuota;
  });
  log_ = link;
  const std::unique_ptr<Store> owner = Open("a");
  ASSERT_TRUE(Eventually([&] { return refused > 0 && !owner->Replica().log.ok(); }));
  EXPECT_EQ(owner->WaitForLeadership(0us).code(), StatusCode::kTimedOut);
  EXPECT_THAT(owner->Replica().log.message(), HasSubstr("space"));
  full = false;
  Queue* queue = nullptr;
  Lead(owner.get(), &queue);
  LogState state;
  ASSERT_TRUE(log_->State(&state).ok());
  EXPECT_TRUE(state.checkpoint.has_value());
  ASSERT_TRUE(queue->Add("key", {.durability = Durability::kReplicated}).ok());
  const std::unique_ptr<Store> replica = Open("b");
  ASSERT_TRUE(owner->Close().ok());
  Lead(replica.get(), &queue);
  EXPECT_THAT(Drain(queue), ElementsAre("key"));
}

TEST_F(ReplicatedStoreTest, ACloseEndsTheFirstCheckpoint) {
  {
    std::unique_ptr<Store> plain;
    ASSERT_TRUE(Store::Open({.create_if_missing = true}, Dir("a"), &plain).ok());
    Queue* queue = nullptr;
    ASSERT_TRUE(plain->OpenQueue("pods", {}, &queue).ok());
    for (int i = 0; i < 3000; ++i) {
      ASSERT_TRUE(queue->Add(std::to_string(i) + std::string(100, 'k')).ok());
    }
    ASSERT_TRUE(plain->Close().ok());
  }
  const auto link = std::make_shared<support::FaultyLog>(log_);
  std::promise<void> begun;
  std::promise<void> closing;
  int parts = 0;
  link->SetHook([&, closes = closing.get_future().share()](std::string_view call) {
    if (call == "PutCheckpointPart" && ++parts == 1) {
      begun.set_value();
      closes.wait();
    }
    return support::FaultyLog::Fault::kNone;
  });
  log_ = link;
  std::unique_ptr<Store> store = Open("a");
  begun.get_future().wait();
  std::thread closer([&] { EXPECT_TRUE(store->Close().ok()); });
  EXPECT_TRUE(Eventually(
      [&] { return store->WaitForLeadership(0us).code() == StatusCode::kShuttingDown; }));
  closing.set_value();
  closer.join();
  LogState state;
  ASSERT_TRUE(log_->State(&state).ok());
  EXPECT_FALSE(state.checkpoint.has_value());
  EXPECT_EQ(parts, 1);
  // The next one makes it, and a replica has the keys of the store that was there.
  Queue* queue = nullptr;
  store = OpenOwner("a", &queue);
  const std::unique_ptr<Store> replica = Open("b");
  AwaitCaughtUp(replica.get());
  ASSERT_TRUE(store->Resign().ok());
  Lead(replica.get(), &queue);
  EXPECT_EQ(queue->Len(), 3000U);
}

TEST_F(ReplicatedStoreTest, AReplicaIsNotOpenedAsAnOrdinaryStoreUntilItIsDetached) {
  {
    Queue* queue = nullptr;
    const std::unique_ptr<Store> owner = OpenOwner("a", &queue);
    ASSERT_TRUE(queue->Add("key").ok());
    ASSERT_TRUE(owner->Close().ok());
  }
  std::unique_ptr<Store> plain;
  const Status s = Store::Open({}, Dir("a"), &plain);
  EXPECT_EQ(s.code(), StatusCode::kNotSupported);
  EXPECT_THAT(s.message(), HasSubstr("replica"));
  const Status detached = DetachReplica(Dir("a"));
  ASSERT_TRUE(detached.ok()) << detached.ToString();
  EXPECT_EQ(DetachReplica(Dir("a")).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Store::Open({}, Dir("a"), &plain).ok());
  Queue* queue = nullptr;
  ASSERT_TRUE(plain->OpenQueue("pods", {}, &queue).ok());
  EXPECT_THAT(Drain(queue), ElementsAre("key"));
}

TEST_F(ReplicatedStoreTest, ReplicatedIsInvalidWithoutReplication) {
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open({.create_if_missing = true}, Dir("a"), &store).ok());
  Queue* queue = nullptr;
  EXPECT_EQ(store->OpenQueue("pods", {.durability = Durability::kReplicated}, &queue).code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(store->OpenQueue("pods", {}, &queue).ok());
  const AddOptions replicated = {.durability = Durability::kReplicated};
  EXPECT_EQ(queue->Add("key", replicated).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue->AddAfter("key", 1s, replicated).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue->AddRateLimited("key", "", replicated).code(), StatusCode::kInvalidArgument);
  const std::string_view keys[] = {"key"};
  EXPECT_EQ(queue->AddBatch(keys, replicated).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue->Flush(Durability::kReplicated).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store->Flush(Durability::kReplicated).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue->Counts().queued, 0U);
  EXPECT_EQ(store->Resign().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(store->IsOwner());
  EXPECT_EQ(store->Epoch(), 1U);
}

// --- What kProcess has acknowledged, and the log did not get ---

class AheadTest : public ReplicatedStoreFixture {
 protected:
  AheadTest() {
    log_ = link_;
    lease_ = 3s;  // Of an owner that was killed: the next one waits for its end.
    write_timeout_ = 300ms;
  }

  // As if etcd took no entries, but kept the lease.
  void CutAppends(bool cut) {
    using Fault = support::FaultyLog::Fault;
    link_->SetHook([cut](std::string_view call) {
      return cut && call == "Append" ? Fault::kBefore : Fault::kNone;
    });
  }

  const std::shared_ptr<support::FaultyLog> link_ = std::make_shared<support::FaultyLog>(log_);
};

TEST_F(AheadTest, ComesBackAfterAKillIfNobodyElseHasOwned) {
  Queue* queue = nullptr;
  {
    const std::unique_ptr<Store> owner = OpenOwner("a", &queue);
    ASSERT_TRUE(queue->Add("in the log", {.durability = Durability::kReplicated}).ok());
    CutAppends(true);
    ASSERT_TRUE(queue->Add("ahead", {.durability = Durability::kProcess}).ok());
    // What a kill would leave.
    std::filesystem::copy(Dir("a"), Dir("killed"), std::filesystem::copy_options::recursive);
  }
  CutAppends(false);
  const std::unique_ptr<Store> store = OpenWith("killed", Options("a"));
  Lead(store.get(), &queue);
  EXPECT_THAT(Drain(queue), ElementsAre("in the log", "ahead"));
}

TEST_F(AheadTest, ACallAtReplicatedIsNotDurableUntilTheLogWorksAgain) {
  Queue* queue = nullptr;
  const std::unique_ptr<Store> store = OpenOwner("a", &queue);
  CutAppends(true);
  const AddOptions replicated = {.durability = Durability::kReplicated};
  EXPECT_EQ(queue->Add("one", replicated).code(), StatusCode::kNotDurable);
  EXPECT_EQ(store->Health().code(), StatusCode::kNotDurable);
  EXPECT_EQ(queue->Add("two", replicated).code(), StatusCode::kNotDurable);
  CutAppends(false);
  EXPECT_TRUE(Eventually([&] { return store->Health().ok(); }));
  EXPECT_TRUE(queue->Add("three", replicated).ok());
  const std::unique_ptr<Store> replica = Open("b");
  ASSERT_TRUE(store->Resign().ok());
  Lead(replica.get(), &queue);
  EXPECT_THAT(Drain(queue), ElementsAre("one", "two", "three"));
}

}  // namespace
}  // namespace wq
