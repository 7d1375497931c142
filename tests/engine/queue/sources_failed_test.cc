// Sources of a store that has failed, and of an owner that is late: nothing is lost.

#include <memory>
#include <utility>

#include <gmock/gmock.h>

#include "engine/replication/fence.h"
#include "engine/store/opened_store.h"
#include "tests/engine/queue/sources_fixture.h"
#include "wq/source.h"

namespace wq {
namespace {

using ::testing::ElementsAre;

TEST_F(SourcesTest, ADeletionOfAFailedStoreIsNotDurableTheSecondTimeEither) {
  BeginList();
  for (const char* object : {"a", "b"}) {
    Observe(object, "1");
  }
  Work();
  BeginList();
  FailWrites();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ObserveDeleted("a"), "NotDurable");
    EXPECT_EQ(ListDeleted("b", {}), "NotDurable");
  }
  EXPECT_EQ(list_->End().code(), StatusCode::kNotDurable);
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  EXPECT_TRUE(list_->End().ok());
}

// Memory has no image of the rows.
TEST_F(SourcesTest, RowsThatAFailedStoreDidNotWriteAreWrittenByItsRecovery) {
  Observe("erased", "1");
  Observe("owned", "1", {"old"});
  Work();
  FailWrites();
  EXPECT_EQ(Observe("lost", "1"), "NotDurable");
  EXPECT_EQ(Observe("lost", "1"), "NotDurable");
  EXPECT_EQ(ObserveDeleted("erased"), "NotDurable");
  EXPECT_EQ(Observe("owned", "2", {"new"}), "NotDurable");
  EXPECT_EQ(Observe("owned", "3", {"newest"}), "NotDurable");  // The row is read from memory.
  EXPECT_EQ(State(), "erased:q lost:q new:q newest:q old:q");
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  Work();
  Crash();
  EXPECT_EQ(Observe("lost", "1"), "unchanged");
  EXPECT_EQ(Observe("owned", "3", {"newest"}), "unchanged");
  EXPECT_THAT(Rows(), ElementsAre("lost 1  lost", "owned 3  newest", "NotFound"));
}

// What is not synced when a store fails, the system may drop.
TEST_F(SourcesTest, RowsThatTheSystemDroppedAreWrittenByARecovery) {
  Observe("gone", "1", {"g"});
  Observe("going", "1", {"g"});
  Observe("owned", "1", {"a"});
  Work();
  ASSERT_TRUE(queue_->Flush(Durability::kPower).ok());
  storage::MemoryDisk::Families synced;
  OnDisk([&synced](auto& disk) { synced = disk.families; });
  Observe("owned", "2", {"b"});
  Observe("new", "1", {"n"});
  EXPECT_EQ(ObserveDeleted("gone"), "changed +1");
  Work();
  ASSERT_TRUE(queue_->Flush().ok());
  FailWrites();
  EXPECT_EQ(ObserveDeleted("going"), "NotDurable");
  OnDisk([&synced](auto& disk) { disk.synced = synced; });
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  Work();
  EXPECT_EQ(Observe("owned", "3", {"c"}), "changed +2");
  EXPECT_EQ(State(), "b:q c:q");
  Work();
  Crash();
  EXPECT_THAT(Rows(), ElementsAre("new 1  n", "owned 3  c", "NotFound"));
}

// The rows are erased, but not synced, when the erasure of their source fails.
TEST_F(SourcesTest, RowsThatComeBackDuringARemovalHaveASource) {
  Observe("a", "1");
  Work();
  ASSERT_TRUE(queue_->Flush(Durability::kPower).ok());
  OnDisk([](auto& disk) { disk.fail_after = 2; });
  storage::MemoryDisk::Families before;
  OnDisk([&before](auto& disk) { before = disk.families; });
  EXPECT_EQ(queue_->RemoveSource("pods").code(), StatusCode::kNotDurable);
  OnDisk([&before](auto& disk) {
    constexpr auto kSources = static_cast<size_t>(storage::Family::kSources);
    disk.synced = disk.families;
    (*disk.synced)[kSources].insert(before[kSources].begin(), before[kSources].end());
  });
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  Crash();
  EXPECT_EQ(Observe("a", "1"), "changed +1");
}

TEST_F(SourcesTest, AnObservationEndsIfTheFilesHaveAnOlderRow) {
  Observe("owned", "1", {"a"});
  ASSERT_TRUE(queue_->Flush().ok());
  storage::MemoryDisk::Families older;
  OnDisk([&older](auto& disk) { older = disk.families; });
  Observe("owned", "2", {"b"});
  Work();
  ASSERT_TRUE(queue_->Flush().ok());
  OnDisk([&older](auto& disk) { disk.families = older; });
  EXPECT_EQ(Observe("owned", "3", {"c"}), "changed +2");
  EXPECT_EQ(State(), "a:q c:q");
}

TEST_F(SourcesTest, WhatAFailedStoreLostIsObservedAgain) {
  FailWrites();
  EXPECT_EQ(Observe("a", "1"), "NotDurable");
  Crash();
  EXPECT_EQ(State(), "");
  EXPECT_EQ(Observe("a", "1"), "changed +1");
}

// An owner whose lease is renewed late refuses calls for a while.
TEST(SourcesOfAReplica, WhatALateOwnerRefusesIsNotForgotten) {
  const auto fence = std::make_shared<Fence>(1);
  fence->ExtendTo(INT64_MAX);
  std::shared_ptr<Store::Impl::Opened> opened;
  auto storage = std::make_unique<storage::MemoryStorage>(std::make_shared<storage::MemoryDisk>());
  ASSERT_TRUE(Store::Impl::Opened::Open({}, "", std::move(storage), fence, &opened).ok());
  Queue* queue = nullptr;
  {
    const MutexLock lock(opened->mu);
    std::unique_ptr<Queue> made;
    ASSERT_TRUE(opened->MakeQueue("q", {}, &made).ok());
    queue = opened->queues.emplace("q", std::move(made)).first->second.get();
  }
  Source pods;
  ASSERT_TRUE(queue->OpenSource("pods", &pods).ok());
  for (const char* object : {"listed", "changed"}) {
    ASSERT_TRUE(pods.Observe({.object = object, .version = "1"}).ok());
  }
  std::unique_ptr<SourceList> list;
  ASSERT_TRUE(pods.BeginList({}, &list).ok());
  ASSERT_TRUE(list->Observe({.object = "changed", .version = "1"}).ok());
  fence->ExtendTo(0);
  EXPECT_EQ(list->Observe({.object = "listed", .version = "1"}).code(), StatusCode::kNotOwner);
  EXPECT_EQ(pods.Observe({.object = "changed", .version = "2"}).code(), StatusCode::kNotOwner);
  fence->ExtendTo(INT64_MAX);
  ASSERT_TRUE(pods.Observe({.object = "changed", .version = "3", .filtered = true}).ok());
  ASSERT_TRUE(list->End().ok());
  EXPECT_EQ(queue->Sources()[0].deleted, 0U);  // "listed" is there.
  ASSERT_TRUE(pods.BeginList({}, &list).ok());
  ObserveResult result;
  ASSERT_TRUE(list->Observe({.object = "changed", .version = "3"}, {}, &result).ok());
  EXPECT_TRUE(result.changed);
  EXPECT_TRUE(opened->Close({}).ok());
}

}  // namespace
}  // namespace wq
