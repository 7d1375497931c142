// EntryDiff: how each key has changed, and that entries beyond the memory limit go to files.
#include "wq/entry_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace wq {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Side = EntryDiff::Side;

Entry Of(std::string key, EntryState state, uint64_t failures = 0) {
  Entry entry;
  entry.key = std::move(key);
  entry.state = state;
  if (failures > 0) entry.failures = FailureInfo{failures, 1, 2, "why"};
  return entry;
}

class EntryDiffTest : public testing::Test {
 protected:
  void Before(const Entry& entry, const std::string& queue = "q") {
    ASSERT_TRUE(diff_.Add(Side::kBefore, queue, entry).ok());
  }
  void After(const Entry& entry, const std::string& queue = "q") {
    ASSERT_TRUE(diff_.Add(Side::kAfter, queue, entry).ok());
  }
  // Each change as "q/key added".
  std::vector<std::string> Run() {
    std::vector<std::string> rows;
    const Status s = diff_.Run([&rows](const KeyDiff& diff) {
      std::string row = diff.queue + "/" + diff.key;
      if (diff.added) row += " added";
      if (diff.removed) row += " removed";
      if (diff.moved) row += " moved";
      if (diff.failed) row += " failed";
      if (diff.changed) row += " changed";
      rows.push_back(row);
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return rows;
  }

  EntryDiff diff_;
};

TEST_F(EntryDiffTest, NothingDiffers) {
  Before(Of("a", EntryState::kPending, 3));
  Before(Of("a", EntryState::kDelayed, 3));
  After(Of("a", EntryState::kDelayed, 3));
  After(Of("a", EntryState::kPending, 3));
  EXPECT_THAT(Run(), IsEmpty());
}

TEST_F(EntryDiffTest, WhatBecameOfEachKey) {
  using State = EntryState;
  After(Of("added", State::kPending));
  Before(Of("removed", State::kPending));
  Before(Of("moved", State::kPending));
  After(Of("moved", State::kQuarantined));
  Before(Of("failed", State::kPending, 1));
  After(Of("failed", State::kPending, 2));
  Before(Of("both", State::kPending));
  After(Of("both", State::kDelayed, 1));
  Before(Of("one of two", State::kPending));
  Before(Of("one of two", State::kDelayed));
  After(Of("one of two", State::kPending));
  Entry entry = Of("lane", State::kPending);
  Before(entry);
  entry.lane = kSlowLane;
  After(entry);
  entry = Of("again", State::kPending);
  Before(entry);
  entry.sequence = 9;
  After(entry);
  Before(Of("forgotten", State::kPending, 5));
  After(Of("forgotten", State::kPending));
  EXPECT_THAT(Run(), ElementsAre("q/added added", "q/again changed", "q/both moved failed",
                                 "q/failed failed", "q/forgotten changed", "q/lane moved",
                                 "q/moved moved", "q/one of two moved", "q/removed removed"));
}

TEST_F(EntryDiffTest, KeysAreBytesAndQueuesAreApart) {
  const std::string nul("a\0b", 3);
  Before(Of(nul, EntryState::kPending), "q");
  After(Of(nul, EntryState::kPending), "r");
  After(Of("\xff", EntryState::kPending), "q");
  EXPECT_THAT(Run(), ElementsAre("q/" + nul + " removed", "q/\xff added", "r/" + nul + " added"));
  EXPECT_EQ(diff_.Add(Side::kAfter, std::string("q\0", 2), {}).code(),
            StatusCode::kInvalidArgument);
}

TEST(EntryDiff, MoreThanFitsIntoMemory) {
  EntryDiff diff({.memory_bytes = 64 << 10, .scratch_dir = testing::TempDir()});
  constexpr int kKeys = 20'000;  // About 2 MB per store.
  for (int i = 0; i < kKeys; ++i) {
    const int shuffled = i * 7'919 % kKeys;
    ASSERT_TRUE(diff.Add(Side::kBefore, "q", Of(std::to_string(i), EntryState::kPending)).ok());
    if (shuffled % 1'000 == 0) continue;
    ASSERT_TRUE(
        diff.Add(Side::kAfter, "q", Of(std::to_string(shuffled), EntryState::kPending)).ok());
  }
  std::vector<std::string> removed;
  ASSERT_TRUE(diff.Run([&](const KeyDiff& key) {
                    EXPECT_TRUE(key.removed);
                    removed.push_back(key.key);
                    return true;
                  })
                  .ok());
  EXPECT_EQ(removed.size(), 20U);
  EXPECT_TRUE(std::is_sorted(removed.begin(), removed.end()));
}

TEST(EntryDiff, AMissingScratchDirectory) {
  EntryDiff diff({.memory_bytes = 2, .scratch_dir = testing::TempDir() + "wq_nothing"});
  const Status s = diff.Add(Side::kBefore, "q", Of("k", EntryState::kPending));
  EXPECT_EQ(s.code(), StatusCode::kIOError);
}

}  // namespace
}  // namespace wq
