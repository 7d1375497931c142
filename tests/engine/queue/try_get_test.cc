// TryGet and PutBack through the whole queue: results, waiting threads, shutdown.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using std::chrono::microseconds;

class TryGetTest : public QueueTest {
 protected:
  // The keys of one TryGet, or the name of the status.
  std::string TryGet(size_t limit) {
    keys_.clear();
    const Status s = queue_->TryGet(limit, &keys_);
    std::string text = s.ok() ? "" : std::string(StatusCodeName(s.code()));
    for (const HeldKey& key : keys_) {
      text += key.key + " ";
    }
    return text;
  }
  std::vector<HeldKey> keys_;
};

TEST_F(TryGetTest, TakesManyKeysInOrder) {
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    Add(std::to_string(i));
    all += std::to_string(i) + " ";
  }
  const std::string first = TryGet(513);
  EXPECT_EQ(first + TryGet(1000), all);
  EXPECT_EQ(TryGet(1000), "TimedOut");
}

TEST_F(TryGetTest, ReportsLaneGroupFailuresAndTheTimeOfTheAdd) {
  ASSERT_TRUE(queue_->AddRateLimited("a", "no route").ok());
  ASSERT_TRUE(queue_->AddRateLimited("a", "boom").ok());
  clock_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(queue_->Add("b", {.lane = kSlowLane, .group = "ns"}).ok());
  EXPECT_EQ(TryGet(9), "a b ");
  EXPECT_EQ(keys_[0].failures, 2U);
  EXPECT_EQ(keys_[0].last_error, "boom");
  EXPECT_EQ(keys_[0].lane, kFastLane);
  EXPECT_EQ(keys_[0].group, "");
  EXPECT_EQ(keys_[1].failures, 0U);
  EXPECT_EQ(keys_[1].last_error, "");
  EXPECT_EQ(keys_[1].lane, kSlowLane);
  EXPECT_EQ(keys_[1].group, "ns");
  EXPECT_EQ(keys_[1].added_at_us, clock_.WallUs());
}

TEST_F(TryGetTest, FiresAllThatIsDueFirst) {
  constexpr size_t kMany = 700;  // More than are fired under one hold of the lock.
  for (size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(queue_->AddAfter("k" + std::to_string(i), microseconds(10)).ok());
  }
  EXPECT_EQ(TryGet(kMany), "TimedOut");
  clock_.Advance(microseconds(10));
  TryGet(kMany);
  EXPECT_EQ(keys_.size(), kMany);
}

// --- PutBack ---

TEST_F(TryGetTest, PutBackWakesAWaitingGet) {
  Add("a");
  EXPECT_EQ(Get(), "a");
  auto waiting = GetInBackground();
  ASSERT_TRUE(queue_->PutBack("a").ok());
  EXPECT_EQ(waiting.get(), "a");
}

TEST_F(TryGetTest, PutBackOfAKeyThatIsNotHeldNamesIt) {
  const Status s = queue_->PutBack("a\n");
  EXPECT_EQ(s.code(), StatusCode::kNotProcessing);
  EXPECT_EQ(s.message(), "no worker holds key 'a\\n'");
}

TEST_F(TryGetTest, PutBackWritesNothing) {
  Add("a");
  Get();
  const uint64_t before = Syncs();
  ASSERT_TRUE(queue_->PutBack("a").ok());
  FailWrites();  // Nothing is left to write.
  EXPECT_TRUE(queue_->Flush(Durability::kProcess).ok());
  EXPECT_EQ(Syncs(), before);
}

TEST_F(TryGetTest, AKeyThatIsGivenBackAfterStopStaysInTheStore) {
  Add("a");
  Get();
  queue_->Stop();
  ASSERT_TRUE(queue_->PutBack("a").ok());
  EXPECT_EQ(Get(), "ShuttingDown");
  CloseAndOpen();
  EXPECT_EQ(Get(), "a");
}

TEST_F(TryGetTest, ADrainWaitsForAKeyThatIsGivenBack) {
  Add("a");
  Get();
  auto drain = DrainInBackground();
  ASSERT_TRUE(queue_->PutBack("a").ok());
  EXPECT_EQ(Get(), "a");
  ASSERT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(drain.get(), StatusCode::kOk);
}

TEST_F(TryGetTest, ADrainOfAPausedQueueEndsWhenTheLastKeyIsGivenBack) {
  Add("a");
  Get();
  ASSERT_TRUE(queue_->Pause().ok());
  auto drain = DrainInBackground();
  ASSERT_TRUE(queue_->PutBack("a").ok());
  EXPECT_EQ(drain.get(), StatusCode::kOk);
}

}  // namespace
}  // namespace wq
