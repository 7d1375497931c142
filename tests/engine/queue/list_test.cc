// The listings of a queue that goes on meanwhile: its first keys, the place of one, its lanes,
// quarantined keys and cursors.

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "wq/internal/queue_calls.h"
#include "wq/queue.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct ListCase {
  const char* name;
  QueueOptions options;
};

std::vector<std::string> KeysOf(const std::vector<QueuedKey>& listed) {
  std::vector<std::string> keys;
  for (const QueuedKey& key : listed) {
    keys.push_back(key.key);
  }
  return keys;
}

class ListTest : public QueueTest, public ::testing::WithParamInterface<ListCase> {
 protected:
  ListTest() { CloseAndOpen(GetParam().options); }

  // Some keys in two lanes, and in groups of unlike lengths.
  void AddKeys(int count) {
    for (int i = 0; i < count; ++i) {
      AddOptions add;
      add.lane = i % 3 == 0 ? kSlowLane : kFastLane;
      const std::string group = "group " + std::to_string(i % (1 + i % 17));
      add.group = group;
      ASSERT_TRUE(queue_->Add("key-" + std::to_string(i), add).ok());
    }
  }
};

// The keys that are handed out are those of the list before, and they are where it says.
TEST_P(ListTest, IsTheOrderOfTheHandOuts) {
  AddKeys(1500);
  const std::vector<std::string> listed = KeysOf(queue_->List());
  ASSERT_THAT(listed, SizeIs(kMaxListed));
  EXPECT_THAT(KeysOf(queue_->List(7)), ElementsAreArray(listed.begin(), listed.begin() + 7));
  if (GetParam().options.shards > 0) {
    return;  // A worker has its own shards.
  }
  for (size_t i = 0; i < listed.size(); i += 100) {
    size_t position = 0;
    ASSERT_TRUE(queue_->PositionOf(listed[i], &position).ok());
    if (GetParam().options.order != Order::kFair) {
      EXPECT_EQ(position, i);
    }
  }
  std::vector<std::string> got;
  while (got.size() < listed.size()) {
    got.push_back(Get());
    ASSERT_TRUE(queue_->Done(got.back()).ok());
  }
  EXPECT_EQ(got, listed);
}

// A key that stays has its place, whatever comes behind it and whatever limits are set.
TEST_P(ListTest, APlaceIsFoundWhileTheQueueGoesOn) {
  AddKeys(4000);
  size_t position = 0;
  ASSERT_TRUE(queue_->PositionOf("key-2000", &position).ok());
  const std::vector<std::string> listed = KeysOf(queue_->List());
  std::atomic<bool> stop = false;
  std::thread changes([&] {
    for (int i = 0; !stop; ++i) {
      const uint32_t most = 1000U + static_cast<uint32_t>(i % 2);
      EXPECT_TRUE(SetLimits(queue_, {}, {.max_processing = most}).ok());
      const std::string key = "later-" + std::to_string(i % 5000);
      EXPECT_TRUE(queue_->Add(key, {.lane = kSlowLane}).ok());
    }
  });
  for (int run = 0; run < 50; ++run) {
    size_t again = 0;
    const Status s = queue_->PositionOf("key-2000", &again);
    EXPECT_TRUE(s.ok()) << s.ToString();
    EXPECT_EQ(again, position);
    if (GetParam().options.shards == 0) {
      EXPECT_EQ(KeysOf(queue_->List()), listed);
    }
  }
  stop = true;
  changes.join();
}

INSTANTIATE_TEST_SUITE_P(
    Orders, ListTest,
    ::testing::Values(ListCase{"TwoLanes", {.order = Order::kTwoLanes}},
                      ListCase{"Priorities", {.order = Order::kPriorities}},
                      ListCase{"Shards", {.order = Order::kTwoLanes, .shards = 4}},
                      ListCase{"Fair", {.order = Order::kFair, .lanes = {kSlowLane}}},
                      ListCase{
                          "GroupLimits",
                          {.order = Order::kTwoLanes, .group_limits = {.max_processing = 1000}}}),
    [](const auto& info) { return info.param.name; });

class ListingTest : public QueueTest {};

TEST_F(ListingTest, ALongListEndsByItsBytes) {
  CloseAndOpen({.max_key_bytes = kMaxKeyBytes});
  for (int i = 100; i < 400; ++i) {
    Add(std::to_string(i) + std::string(kMaxKeyBytes - 3, 'k'));
  }
  EXPECT_THAT(queue_->List(), SizeIs((size_t{256} << 10) / kMaxKeyBytes));
}

// In a lane the groups take turns: as many of each other group are before a key as of its own.
TEST_F(ListingTest, APositionInAFairOrderIsThatOfItsGroupsTurn) {
  CloseAndOpen({.order = Order::kFair});
  for (int i = 0; i < 100; ++i) {
    for (const char* group : {"a", "b"}) {
      AddOptions add;
      const std::string name = group;
      add.group = name;
      ASSERT_TRUE(queue_->Add(name + std::to_string(i), add).ok());
    }
  }
  AddOptions alone;
  alone.group = "c";
  ASSERT_TRUE(queue_->Add("c0", alone).ok());
  ASSERT_TRUE(queue_->Add("c1", alone).ok());
  const auto position = [this](const char* key) {
    size_t before = 0;
    EXPECT_TRUE(queue_->PositionOf(key, &before).ok());
    return before;
  };
  EXPECT_EQ(position("c0"), 0U);
  EXPECT_EQ(position("c1"), 3U);
  EXPECT_EQ(position("b50"), 50U + 50 + 2);
}

TEST_F(ListingTest, TheLanesWithTheMostKeysAreCountedEach) {
  for (const uint32_t shards : {0U, 3U}) {
    CloseAndOpen({.order = Order::kPriorities, .shards = shards});
    const auto add = [this](const std::string& key, Lane lane) {
      ASSERT_TRUE(queue_->Add(key, {.lane = lane}).ok());
    };
    for (Lane lane = 0; lane < 2500; ++lane) {
      add(std::to_string(lane), lane);
    }
    for (int i = 0; i < 10; ++i) {
      add("many " + std::to_string(i), -7);
    }
    const QueueCounts counts = queue_->Counts();
    EXPECT_THAT(counts.lanes, SizeIs(kMaxCountedLanes));
    EXPECT_EQ(counts.lanes.at(-7), 10U);
    EXPECT_EQ(counts.lanes.at(2499), 1U);
    EXPECT_EQ(counts.other_lanes, 2510U - 10 - 99);
    std::vector<HeldKey> all;
    if (shards == 0) {
      ASSERT_TRUE(queue_->TryGet(SIZE_MAX, &all).ok());
      EXPECT_THAT(all, SizeIs(2510));
      EXPECT_THAT(queue_->Counts().lanes, IsEmpty());
      EXPECT_EQ(queue_->Counts().other_lanes, 0U);
    }
    for (const HeldKey& key : all) {
      ASSERT_TRUE(queue_->Done(key.key).ok());
    }
  }
}

TEST_F(ListingTest, QuarantinedKeysByPage) {
  for (const char* key : {"c", "a", "e", "b", "d"}) {
    ASSERT_TRUE(queue_->Quarantine(key, "why").ok());
  }
  const auto keys = [this](std::string_view after, size_t limit) {
    std::string found;
    for (const QuarantinedKey& key : queue_->Quarantined(after, limit)) {
      found += key.key;
    }
    return found;
  };
  EXPECT_EQ(keys("", 2), "ab");
  EXPECT_EQ(keys("b", 2), "cd");
  EXPECT_EQ(keys("bb", 9), "cde");
  EXPECT_EQ(keys("d", 9), "e");
  EXPECT_EQ(keys("e", 9), "");
  EXPECT_EQ(keys("", 0), "");
  ASSERT_TRUE(queue_->Release("b").ok());
  ASSERT_TRUE(queue_->Drop("a").ok());
  ASSERT_TRUE(queue_->Delete("e").ok());
  EXPECT_EQ(keys("", 9), "cd");
  CloseAndOpen();
  EXPECT_EQ(keys("", 9), "cd");
  EXPECT_EQ(queue_->Counts().quarantined, 2U);
}

}  // namespace
}  // namespace wq
