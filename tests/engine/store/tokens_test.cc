// Store::ReserveTokens: no number twice, over reopenings, kills, failed writes, repairs and
// restored snapshots.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/environment.h"
#include "wq/repair.h"
#include "wq/snapshot.h"
#include "wq/verify.h"

namespace wq {
namespace {

constexpr uint64_t kNone = 0;

// The first of `count` tokens; kNone: the call failed.
uint64_t Reserve(Store* store, uint64_t count = 1) {
  uint64_t first = kNone;
  const Status s = store->ReserveTokens(count, &first);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return first;
}

using TokensTest = QueueTest;

TEST_F(TokensTest, NoTokensAndMoreThanAreLeftAreRefused) {
  uint64_t first = 77;
  EXPECT_EQ(store_->ReserveTokens(0, &first).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Reserve(store_.get(), uint64_t{1} << 63), 1U);
  EXPECT_EQ(store_->ReserveTokens(uint64_t{1} << 63, &first).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(first, 77U);
  EXPECT_EQ(Reserve(store_.get()), (uint64_t{1} << 63) + 1);
}

TEST_F(TokensTest, AReservationWaitsForAWriteThatSurvivesAPowerCut) {
  const uint64_t before = Syncs();
  Reserve(store_.get());
  EXPECT_EQ(Syncs(), before + 1);
}

TEST_F(TokensTest, AreNotReservedAgainAfterAReopeningOrAKill) {
  EXPECT_EQ(Reserve(store_.get(), 10), 1U);
  CloseAndOpen();
  EXPECT_EQ(Reserve(store_.get(), 10), 11U);
  Crash();
  EXPECT_EQ(Reserve(store_.get()), 21U);
}

TEST_F(TokensTest, AFailedStoreReservesNoneAndSkipsThoseOfTheFailedWrite) {
  EXPECT_EQ(Reserve(store_.get(), 10), 1U);
  FailWrites();
  uint64_t first = kNone;
  EXPECT_EQ(store_->ReserveTokens(10, &first).code(), StatusCode::kNotDurable);
  EXPECT_EQ(store_->ReserveTokens(10, &first).code(), StatusCode::kNotDurable);
  EXPECT_EQ(first, kNone);
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  Crash();
  EXPECT_EQ(Reserve(store_.get()), 21U);  // The recovery has written 11 to 20 as reserved.
}

TEST_F(TokensTest, ThreadsReserveDifferentTokens) {
  constexpr size_t kThreads = 4;
  constexpr size_t kEach = 50;
  std::vector<std::vector<uint64_t>> reserved(kThreads);
  std::vector<std::thread> threads;
  for (auto& own : reserved) {
    threads.emplace_back([this, &own] {
      for (size_t i = 0; i < kEach; ++i) {
        own.push_back(Reserve(store_.get(), 2));
      }
    });
  }
  std::vector<uint64_t> all;
  for (size_t i = 0; i < kThreads; ++i) {
    threads[i].join();
    EXPECT_TRUE(std::is_sorted(reserved[i].begin(), reserved[i].end()));
    all.insert(all.end(), reserved[i].begin(), reserved[i].end());
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i], 1 + 2 * i);
  }
}

// --- Files ---

TEST(TokensOnDisk, ARestoredOrRepairedStoreGoesOnAfterThoseOfItsOrigin) {
  const support::ScratchDirectory root;
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open({.create_if_missing = true}, root / "store", &store).ok());
  EXPECT_EQ(Reserve(store.get(), 10), 1U);
  SnapshotInfo taken;
  ASSERT_TRUE(CreateSnapshot(root / "store", root / "snapshots", {}, &taken).ok());
  EXPECT_EQ(Reserve(store.get(), 10), 11U);
  ASSERT_TRUE(store->Close().ok());

  VerifyReport verified;
  ASSERT_TRUE(Verify(root / "store", {}, &verified).ok());
  EXPECT_TRUE(verified.ok());
  SnapshotInfo from;
  ASSERT_TRUE(RestoreSnapshot(root / "snapshots", root / "restored", {}, &from).ok());
  ASSERT_TRUE(Store::Open({}, root / "restored", &store).ok());
  EXPECT_EQ(Reserve(store.get()), 11U);
  RepairReport report;
  ASSERT_TRUE(Repair(root / "store", root / "repaired", &report).ok());
  EXPECT_TRUE(report.losses.empty());
  ASSERT_TRUE(Store::Open({}, root / "repaired", &store).ok());
  EXPECT_EQ(Reserve(store.get()), 21U);
}

}  // namespace
}  // namespace wq
