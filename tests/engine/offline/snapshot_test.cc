// Snapshots beside an owner in this process that goes on working: each is the store at one instant.
#include "wq/snapshot.h"

#include <sched.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/repair.h"
#include "wq/store.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wq {
namespace {

class SnapshotTest : public testing::Test {
 protected:
  void SetUp() override {
    // Small: it often flushes, and removes tables and logs.
    const StoreOptions options = {
        .create_if_missing = true, .max_wal_bytes = 1 << 17, .write_buffer_bytes = 1 << 16};
    ASSERT_EQ(Store::Open(options, root_ / "store", &store_).ToString(), "Ok");
    ASSERT_EQ(store_->OpenQueue("q", {}, &queue_).ToString(), "Ok");
  }
  void TearDown() override { store_.reset(); }

  static std::string KeyOf(uint64_t n) {
    return "key-" + std::to_string(n) + std::string(2000, '.');
  }

  // Counts the keys of the snapshot, which must be the first keys, in order.
  static void CountKeys(const std::string& dir, uint64_t* count) {
    VerifyReport report;
    ASSERT_EQ(Verify(dir, {}, &report).ToString(), "Ok");
    ASSERT_TRUE(report.ok()) << report.findings.front().where << ": "
                             << report.findings.front().what;
    std::unique_ptr<StoreView> view;
    ASSERT_EQ(StoreView::Open(dir, &view).ToString(), "Ok");
    *count = 0;
    bool in_order = true;
    const Status visited = view->ForEachEntry(
        "q", [&](const Entry& entry) { return in_order = entry.key == KeyOf((*count)++); });
    ASSERT_EQ(visited.ToString(), "Ok");
    ASSERT_TRUE(in_order) << "key " << *count - 1 << " is missing";
  }

  const support::ScratchDirectory root_;
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
};

TEST_F(SnapshotTest, BesideABusyOwnerHoldsAPrefixWithAllThatWasAcknowledged) {
  std::atomic<uint64_t> acknowledged{0};
  std::atomic<uint64_t> allowed{0};
  std::jthread adder([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (acknowledged == allowed) {
        sched_yield();
      } else if (queue_->Add(KeyOf(acknowledged)).ok()) {
        ++acknowledged;
      }
    }
  });
  constexpr int kRounds = 24;
  for (int i = 0; i < kRounds; ++i) {
    allowed += 20'000;  // Without a bound there would be millions of keys to copy.
    const uint64_t before = acknowledged;
    SnapshotInfo taken;
    // Of three snapshots two link the tables and the third one copies them.
    const Status s =
        CreateSnapshot(root_ / "store", root_ / "kept", {.link_tables = i % 3 != 2}, &taken);
    ASSERT_EQ(s.ToString(), "Ok");
    EXPECT_EQ(taken.uuid, store_->uuid());
    if (i % 6 != 5) continue;  // Counting is slow.
    uint64_t count = 0;
    ASSERT_NO_FATAL_FAILURE(CountKeys(taken.path, &count));
    EXPECT_GE(count, before);
  }
  adder = {};  // Stops and joins it.
  std::vector<SnapshotInfo> all;
  ASSERT_EQ(ListSnapshots(root_ / "kept", &all).ToString(), "Ok");
  EXPECT_EQ(all.size(), size_t{kRounds});
  EXPECT_GT(all.back().linked_bytes, 0U);
}

TEST_F(SnapshotTest, ARestoredStoreIsAnotherOneAndGoesOn) {
  ASSERT_EQ(queue_->Add(KeyOf(0)).ToString(), "Ok");
  SnapshotInfo taken;
  ASSERT_EQ(CreateSnapshot(root_ / "store", root_ / "kept", {}, &taken).ToString(), "Ok");
  ASSERT_EQ(queue_->Add(KeyOf(1)).ToString(), "Ok");

  SnapshotInfo from;
  const std::string into = root_ / "new";
  ASSERT_EQ(RestoreSnapshot(root_ / "kept", into, {}, &from).ToString(), "Ok");
  EXPECT_EQ(from.path, taken.path);
  std::unique_ptr<Store> restored;
  ASSERT_EQ(Store::Open({}, into, &restored).ToString(), "Ok");
  EXPECT_NE(restored->uuid(), store_->uuid());
  Queue* queue = nullptr;
  ASSERT_EQ(restored->OpenQueue("q", {}, &queue).ToString(), "Ok");
  EXPECT_EQ(queue->Len(), 1U);
  EXPECT_EQ(queue->Add(KeyOf(2)).ToString(), "Ok");
  std::unique_ptr<Store> none;
  EXPECT_EQ(Store::Open({}, taken.path, &none).code(), StatusCode::kNotSupported);
}

TEST_F(SnapshotTest, ACancelledOneLeavesNothing) {
  SnapshotInfo taken;
  EXPECT_EQ(
      CreateSnapshot(root_ / "store", root_ / "kept", {.cancelled = [] { return true; }}, &taken)
          .code(),
      StatusCode::kIOError);
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "kept"));
  ASSERT_EQ(CreateSnapshot(root_ / "store", root_ / "kept", {}, &taken).ToString(), "Ok");
  SnapshotInfo from;
  EXPECT_EQ(
      RestoreSnapshot(root_ / "kept", root_ / "new", {.cancelled = [] { return true; }}, &from)
          .code(),
      StatusCode::kIOError);
  EXPECT_FALSE(std::filesystem::exists(root_ / "new"));
  EXPECT_FALSE(std::filesystem::exists(root_ / "new.restoring"));
}

// A user may have a store of any name, also of one at which a call would build another.
TEST_F(SnapshotTest, AStoreThatIsInTheWayIsKept) {
  SnapshotInfo taken;
  ASSERT_EQ(CreateSnapshot(root_ / "store", root_ / "kept", {}, &taken).ToString(), "Ok");
  store_.reset();
  SnapshotInfo from;
  RepairReport repaired;
  for (const std::string path : {"new.restoring", "new.repairing", "kept/.creating"}) {
    SCOPED_TRACE(path);
    StoreOptions options;
    options.create_if_missing = true;
    ASSERT_EQ(Store::Open(options, root_ / path, &store_).ToString(), "Ok");
    ASSERT_EQ(store_->OpenQueue("q", {}, &queue_).ToString(), "Ok");
    ASSERT_EQ(queue_->Add("precious").ToString(), "Ok");
    store_.reset();
    const Status status =
        path == "new.restoring"   ? RestoreSnapshot(root_ / "kept", root_ / "new", {}, &from)
        : path == "new.repairing" ? Repair(root_ / "store", root_ / "new", &repaired)
                                  : CreateSnapshot(root_ / "store", root_ / "kept", {}, &taken);
    EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(status.message(), testing::HasSubstr(path + " is in the way"));
    EXPECT_FALSE(std::filesystem::exists(root_ / "new"));
    std::unique_ptr<StoreView> view;
    ASSERT_EQ(StoreView::Open(root_ / path, &view).ToString(), "Ok");
    std::vector<Entry> entries;
    EXPECT_EQ(view->Find("q", "precious", &entries).ToString(), "Ok");
    EXPECT_EQ(entries.size(), 1U);
  }
}

TEST_F(SnapshotTest, WhatIsNotFinishedIsNoStoreAndTheNextCallRemovesIt) {
  SnapshotInfo taken;
  ASSERT_EQ(CreateSnapshot(root_ / "store", root_ / "kept", {}, &taken).ToString(), "Ok");
  store_.reset();
  SnapshotInfo from;
  RepairReport repaired;
  for (const std::string path : {"new.restoring", "new.repairing"}) {
    SCOPED_TRACE(path);
    // Killed just before it gets its name.
    std::filesystem::copy(root_ / "store", root_ / path);
    std::ofstream(root_ / path + "/UNFINISHED").close();
    std::unique_ptr<StoreView> view;
    VerifyReport verified;
    StoreOptions options;
    options.create_if_missing = true;
    for (const Status& refused :
         {Store::Open(options, root_ / path, &store_), StoreView::Open(root_ / path, &view),
          Verify(root_ / path, {}, &verified), Repair(root_ / path, root_ / "new", &repaired),
          CreateSnapshot(root_ / path, root_ / "kept", {}, &taken)}) {
      EXPECT_EQ(refused.code(), StatusCode::kNotFound);
      EXPECT_THAT(refused.message(), testing::HasSubstr(path + " is not finished"));
    }
    ASSERT_EQ((path == "new.restoring" ? RestoreSnapshot(root_ / "kept", root_ / "new", {}, &from)
                                       : Repair(root_ / "store", root_ / "new", &repaired))
                  .ToString(),
              "Ok");
    EXPECT_FALSE(std::filesystem::exists(root_ / path));
    EXPECT_FALSE(std::filesystem::exists(root_ / "new/UNFINISHED"));
    ASSERT_EQ(Store::Open({}, root_ / "new", &store_).ToString(), "Ok");
    store_.reset();
    std::filesystem::remove_all(root_ / "new");
  }
}

}  // namespace
}  // namespace wq
