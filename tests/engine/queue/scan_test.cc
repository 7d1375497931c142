// Queue::Scan and Inspect.
#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/environment.h"
#include "wq/queue.h"

namespace wq {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr size_t kStable = 20'000;

class ScanTest : public QueueTest {
 protected:
  ScanTest() {
    CloseAndOpen({.order = Order::kPriorities,
                  .max_requeues = 2,
                  .quarantined_add = QuarantinedAdd::kHold,
                  .limiter = std::make_shared<ItemFastSlow>(seconds(5), seconds(60), 1)});
  }
  // "queued failing 3/7 g" and so on: what is known of a key.
  static std::string Text(const KeyInfo& key) {
    std::string text;
    const auto add = [&text](bool is, const char* name) { text += is ? name : ""; };
    add(key.queued, "queued ");
    add(key.processing, "processing ");
    add(key.added_again, "again ");
    add(key.delayed, "delayed ");
    add(key.resync, "resync ");
    add(key.failing, "failing ");
    add(key.quarantined, "quarantined ");
    text += "lane " + std::to_string(key.lane);
    text += key.group.empty() ? "" : " of " + std::string(key.group);
    text += key.failures == 0
                ? ""
                : " " + std::to_string(key.failures) + " failures: " + std::string(key.last_error);
    return text;
  }
  std::map<std::string, std::string> All() const {
    std::map<std::string, std::string> all;
    EXPECT_TRUE(queue_
                    ->Scan([&all](const KeyInfo& key) {
                      EXPECT_TRUE(all.emplace(key.key, Text(key)).second) << key.key;
                      return true;
                    })
                    .ok());
    return all;
  }
  std::string One(std::string_view key) const {
    std::string text;
    const Status s = queue_->Inspect(key, [&text](const KeyInfo& info) { text = Text(info); });
    return s.ok() ? text : std::string(StatusCodeName(s.code()));
  }
};

TEST_F(ScanTest, ShowsAllThatIsKnownOfAKey) {
  Add("held");
  ASSERT_EQ(Get(), "held");
  Add("held");
  ASSERT_TRUE(queue_->Add("queued", {.lane = 7, .group = "g\xff"}).ok());
  const AddOptions resync{.lane = -3, .delay_mode = DelayMode::kResync};
  ASSERT_TRUE(queue_->AddAfter("later", seconds(9), resync).ok());
  ASSERT_TRUE(queue_->AddRateLimited("fails", "no route").ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue_->AddRateLimited("bad", std::string("why\0", 4)).ok());
  }
  EXPECT_THAT(
      All(),
      ElementsAre(Pair("bad", "quarantined lane 0 3 failures: " + std::string("why\0", 4)),
                  Pair("fails", "delayed failing lane 0 1 failures: no route"),
                  Pair("held", "processing again lane 0"), Pair("later", "delayed resync lane -3"),
                  Pair("queued", "queued lane 7 of g\xff")));
  for (const auto& [key, text] : All()) {
    EXPECT_EQ(One(key), text);
  }
  EXPECT_EQ(One("other"), "NotFound");
}

TEST_F(ScanTest, ShowsTheTimes) {
  const int64_t now_us = clock_.WallUs();
  ASSERT_TRUE(queue_->AddRateLimited("k", "e").ok());
  KeyInfo shown;
  ASSERT_TRUE(queue_->Inspect("k", [&shown](const KeyInfo& key) { shown = key; }).ok());
  EXPECT_EQ(shown.added_at_us, now_us);
  EXPECT_EQ(shown.delay_us, microseconds(seconds(5)).count());
  EXPECT_EQ(shown.ready_at_us, now_us + shown.delay_us);
  EXPECT_EQ(shown.first_failed_at_us, now_us);
  EXPECT_EQ(shown.last_failed_at_us, now_us);
  EXPECT_EQ(shown.quarantined_at_us, 0);
  EXPECT_FALSE(shown.shard.has_value());
  ASSERT_TRUE(queue_->Quarantine("k").ok());
  ASSERT_TRUE(queue_->Inspect("k", [&shown](const KeyInfo& key) { shown = key; }).ok());
  EXPECT_EQ(shown.quarantined_at_us, now_us);
  EXPECT_EQ(shown.ready_at_us, 0);
}

// The visitor runs without the queue's lock.
TEST_F(ScanTest, TheVisitorMayChangeTheQueue) {
  for (int i = 0; i < 5000; ++i) {
    Add(std::to_string(i));
  }
  size_t visits = 0;
  ASSERT_TRUE(queue_
                  ->Scan([&](const KeyInfo& key) {
                    ++visits;
                    EXPECT_TRUE(queue_->Remove(key.key).ok());
                    return visits < 4000;  // Then it has seen enough.
                  })
                  .ok());
  EXPECT_EQ(visits, 4000U);
  EXPECT_EQ(queue_->Len(), 1000U);
}

TEST_F(ScanTest, KeysThatStayAreVisitedOnceWhileOthersComeAndGo) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (size_t i = 0; i < kStable; ++i) {
    Add("stable-" + std::to_string(i));
  }
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (size_t writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, random = std::mt19937_64(seed + writer), writer]() mutable {
      while (!stop) {  // Waves, so that the table grows and shrinks.
        const size_t count = random() % 30'000;
        for (size_t i = 0; i < count && !stop; ++i) {
          EXPECT_TRUE(queue_->Add(std::to_string(writer) + "-" + std::to_string(i)).ok());
        }
        for (size_t i = 0; i < count; ++i) {
          static_cast<void>(queue_->Remove(std::to_string(writer) + "-" + std::to_string(i)));
        }
      }
    });
  }
  for (int round = 0; round < 15; ++round) {
    std::map<std::string, size_t> visits;
    size_t stable = 0;
    ASSERT_TRUE(queue_
                    ->Scan([&](const KeyInfo& key) {
                      const size_t count = ++visits[std::string(key.key)];
                      EXPECT_EQ(count, 1U) << key.key;
                      stable += key.key.starts_with("stable-") ? 1 : 0;
                      return true;
                    })
                    .ok());
    EXPECT_EQ(stable, kStable);
  }
  stop = true;
  for (std::thread& writer : writers) {
    writer.join();
  }
}

TEST_F(ScanTest, TheOldestKeyAndTheEndOfAPause) {
  EXPECT_EQ(queue_->Counts().oldest_added_at_us, std::nullopt);
  EXPECT_EQ(queue_->Counts().paused_until_us, 0);
  const int64_t first_us = clock_.WallUs();
  Add("a");
  clock_.Advance(seconds(3));
  Add("b");
  EXPECT_EQ(queue_->Counts().oldest_added_at_us, first_us);
  ASSERT_TRUE(queue_->Pause(seconds(10)).ok());
  EXPECT_EQ(queue_->Counts().paused_until_us, clock_.WallUs() + microseconds(seconds(10)).count());
  clock_.Advance(seconds(10));
  EXPECT_EQ(queue_->Counts().paused_until_us, 0);
  ASSERT_TRUE(queue_->Pause().ok());
  EXPECT_EQ(queue_->Counts().paused_until_us, 0);
}

// A pause is never longer than was asked, whatever the clock says meanwhile.
TEST_F(ScanTest, TheEndOfAPauseAfterTheClockWasSet) {
  constexpr int64_t kDayUs = 86'400'000'000;
  constexpr int64_t kPauseUs = 600'000'000;
  const int64_t begun_us = clock_.WallUs();
  ASSERT_TRUE(queue_->Pause(microseconds(kPauseUs)).ok());
  for (const int64_t wall_us : {begun_us + kDayUs, begun_us - kDayUs, begun_us}) {
    clock_.SetWall(wall_us);
    EXPECT_EQ(queue_->Counts().paused_until_us, wall_us + kPauseUs) << "open";
  }
  for (const int64_t wall_us : {begun_us - kDayUs, begun_us + kPauseUs / 2}) {
    clock_.SetWall(wall_us);
    CloseAndOpen();
    EXPECT_EQ(queue_->Counts().paused_until_us, std::min(wall_us, begun_us) + kPauseUs);
  }
}

}  // namespace
}  // namespace wq
