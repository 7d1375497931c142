// What becomes of snapshots, and of what lies in the way of one. That each is the store at one
// instant: see beside_owner_test.cc.
#include "wq/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "storage/mutation_batch.h"
#include "storage/open.h"
#include "storage/records.h"
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
    ASSERT_EQ(Store::Open({.create_if_missing = true}, root_ / "store", &store_).ToString(), "Ok");
    ASSERT_EQ(store_->OpenQueue("q", {}, &queue_).ToString(), "Ok");
  }
  void TearDown() override { store_.reset(); }

  const support::ScratchDirectory root_;
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
};

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

TEST_F(SnapshotTest, ACopyThatIsNotCompleteIsNotTakenForAStore) {
  SnapshotInfo taken;
  RepairReport repaired;
  store_.reset();
  for (const bool seeded : {true, false}) {
    std::unique_ptr<storage::Storage> storage;
    ASSERT_TRUE(storage::OpenStorage(root_ / "store", {.replicated = true}, &storage).ok());
    storage::MutationBatch batch;
    storage::PutReplication({.seeded = seeded}, &batch);
    ASSERT_TRUE(storage->Write(batch, /*sync=*/true).ok());
    ASSERT_TRUE(storage->Close().ok());
    const Status s = CreateSnapshot(root_ / "store", root_ / "kept", {}, &taken);
    EXPECT_EQ(s.code(), seeded ? StatusCode::kOk : StatusCode::kNotSupported) << s.ToString();
    ASSERT_TRUE(Repair(root_ / "store", root_ / (seeded ? "a" : "b"), &repaired).ok());
    EXPECT_EQ(repaired.losses.empty(), seeded);
  }
}

}  // namespace
}  // namespace wq
