// StoreView::Summarize: what it counts, and that its memory is bounded.
#include "tests/engine/offline/store_view_fixture.h"
#include "wq/queue.h"
#include "wq/store_view.h"

namespace wq {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST_F(StoreViewTest, SummaryCountsAndFindsTheOldest) {
  Pending("a", 1, kFastLane, 9'000);
  Pending("b", 2, kFastLane, 3'000);  // Not the first in the order (it was moved), but the oldest.
  Pending("c", 3, kSlowLane, 4'000);
  Delayed("d", 700);
  Delayed("e", 600);
  View();
  const QueueSummary summary = Summary();
  EXPECT_EQ(summary.name, "pods");
  EXPECT_EQ(summary.pending, 3U);
  EXPECT_EQ(summary.delayed, 2U);
  EXPECT_EQ(summary.failing, 0U);
  EXPECT_THAT(summary.lanes,
              ElementsAre(testing::Pair(kFastLane, 2U), testing::Pair(kSlowLane, 1U)));
  EXPECT_EQ(summary.oldest_added_at_us, 3'000);
  EXPECT_EQ(summary.next_ready_at_us, 600);
  EXPECT_THAT(summary.top_failing, IsEmpty());
}

TEST_F(StoreViewTest, TopFailingAreTheHighestCountsThenTheSmallestKeys) {
  for (uint64_t i = 0; i < 50; ++i) Failing("k" + std::to_string(100 + i), 3 + (i * 7) % 5);
  Failing("champion", 99, "no route");
  View();
  const QueueSummary summary = Summary({.top_failing = 4});
  EXPECT_EQ(summary.failing, 51U);
  std::vector<std::string> top;
  for (const FailingKey& key : summary.top_failing) {
    top.push_back(key.key + "=" + std::to_string(key.failures.count));
  }
  // The first keys with the maximum count: 3 + (i * 7) % 5 is 7 for i = 2, 7 and 12.
  EXPECT_THAT(top, ElementsAre("champion=99", "k102=7", "k107=7", "k112=7"));
  EXPECT_EQ(summary.top_failing.front().failures.last_error, "no route");
  EXPECT_EQ(summary.top_failing.front().failures.first_at_us, 10);
  EXPECT_EQ(summary.top_failing.front().failures.last_at_us, 20);
  EXPECT_THAT(Summary({.top_failing = 0}).top_failing, IsEmpty());
}

TEST_F(StoreViewTest, DelaysAreCountedByWhatWasAskedForAndByWhatIsLeft) {
  for (const int64_t delay_us :
       std::vector<int64_t>{1, 10'000, 10'001, 60'000'000, 90'000'000'000}) {
    storage::PutDelayed(kPods,
                        {.key = "k" + std::to_string(delay_us),
                         .ready_at_us = 1'000 + delay_us,
                         .delay_us = delay_us,
                         .added_at_us = 1'000},
                        &batch_);
  }
  View();
  const QueueSummary summary = Summary({.now_us = 11'000});
  EXPECT_THAT(summary.delays.counts, ElementsAre(2, 1, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(summary.due.counts, ElementsAre(2, 1, 0, 1, 0, 0, 0, 0, 1));
}

TEST_F(StoreViewTest, SummaryShowsAPauseByItsLength) {
  // Asked for 600 us at 100'000; the clock was set back meanwhile, and right again, and forward.
  struct {
    int64_t paused_at_us, now_us, until_us;
    bool over;  // Without an owner. With one, the owner says so.
  } const cases[] = {{100'000, 1'000, 1'600, false},
                     {1'000, 1'200, 1'600, false},
                     {1'000, 100'100, 100'600, false},
                     {100'000, 100'600, 100'600, true},
                     {100'000, 200'000, 100'600, true}};
  for (const auto& [paused_at_us, now_us, until_us, over] : cases) {
    storage::PutQueueState(kPods,
                           {.sequence_high_water = 1,
                            .paused = true,
                            .paused_until_us = 100'600,
                            .pause_us = 600,
                            .paused_at_us = paused_at_us},
                           &batch_);
    View();
    EXPECT_EQ(Summary({.now_us = now_us}).paused_until_us, until_us) << now_us;
    EXPECT_TRUE(Summary({.now_us = now_us}).paused) << now_us;
    owner_.reset();
    ASSERT_TRUE(StoreView::Open(dir_, &view_).ok());
    EXPECT_EQ(Summary({.now_us = now_us}).paused_until_us, until_us) << now_us;
    EXPECT_EQ(Summary({.now_us = now_us}).paused, !over) << now_us;
    ASSERT_TRUE(storage::OpenStorage(dir_, {.now_us = now_us}, &owner_).ok());
  }
}

TEST_F(StoreViewTest, ShardsAreShown) {
  storage::PutPending(kPods, {.key = "a", .sequence = 1, .group = "node-1"}, &batch_);
  storage::PutPending(kPods, {.key = "node-1", .sequence = 2}, &batch_);
  View();
  EXPECT_EQ(Summary().shards, 0U);
  storage::PutQueueState(kPods, {.sequence_high_water = 3, .shards = 65535}, &batch_);
  View();
  EXPECT_EQ(Summary().shards, 65535U);
  std::vector<uint32_t> shards;
  ASSERT_TRUE(view_
                  ->ForEachEntry("pods",
                                 [&shards](const Entry& entry) {
                                   shards.push_back(entry.shard.value_or(0));
                                   return true;
                                 })
                  .ok());
  EXPECT_EQ(shards, (std::vector<uint32_t>{2395, 2395}));  // By group, or by key without one.
  std::vector<Entry> found;
  ASSERT_TRUE(view_->Find("pods", "a", &found).ok());
  EXPECT_EQ(found.at(0).shard, 2395U);
}

TEST_F(StoreViewTest, BeyondTheBoundTheDeepestGroupIsStillFoundAndTheErrorIsReported) {
  constexpr uint64_t kDeep = 500;
  uint64_t sequence = 0;
  for (uint64_t i = 0; i < 2 * kMaxSummaryGroups; ++i) {
    ++sequence;
    PendingOf("g" + std::to_string(i), "k" + std::to_string(sequence), sequence);
  }
  for (uint64_t i = 0; i < kDeep; ++i) {
    ++sequence;
    PendingOf("deep", "k" + std::to_string(sequence), sequence);
  }
  View();
  const QueueSummary summary = Summary({.top_groups = 1});
  EXPECT_EQ(summary.pending, sequence);
  EXPECT_EQ(summary.groups.count, kMaxSummaryGroups + 1);
  EXPECT_GT(summary.groups.max_error, 0U);
  EXPECT_LE(summary.groups.max_error, sequence / kMaxSummaryGroups);
  ASSERT_EQ(summary.groups.top.size(), 1U);
  EXPECT_EQ(summary.groups.top.front().group, "deep");
  EXPECT_LE(summary.groups.top.front().pending, kDeep);
  EXPECT_GE(summary.groups.top.front().pending + summary.groups.max_error, kDeep);
}

TEST_F(StoreViewTest, KeysOfTooManyLanesAreCountedTogether) {
  constexpr uint64_t kLanes = 10'005;  // More than are counted each.
  for (uint64_t i = 0; i < kLanes; ++i) {
    Pending("k" + std::to_string(i), i + 1, static_cast<Lane>(i));
  }
  Pending("more", kLanes + 1, 7);
  View();
  const QueueSummary summary = Summary();
  EXPECT_EQ(summary.pending, kLanes + 1);
  EXPECT_EQ(summary.lanes.size(), kMaxCountedLanes);
  EXPECT_EQ(summary.lanes.at(7), 2U);
  EXPECT_EQ(summary.other_lanes, kLanes - kMaxCountedLanes);
}

TEST_F(StoreViewTest, SummaryHasTheSizesOfTheCursorsButNotOfTooMany) {
  Cursor("watch", std::string(1'234, 'x'));
  Cursor("empty", "");
  View();
  EXPECT_THAT(Summary().cursors, ElementsAre(Pair("empty", 0U), Pair("watch", 1'234U)));
  EXPECT_EQ(Summary().other_cursors, 0U);
  for (size_t i = 0; i < kMaxSummaryCursors; ++i) Cursor("a" + std::to_string(i), "v");
  View();
  EXPECT_EQ(Summary().cursors.size(), kMaxSummaryCursors);
  EXPECT_EQ(Summary().other_cursors, 2U);
}

}  // namespace
}  // namespace wq
