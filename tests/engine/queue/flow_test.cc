// Flow control through the whole queue: full queues, stuck keys, debounced Adds, and the options
// that are refused.

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class FlowTest : public QueueTest {
 protected:
  void Bound(size_t keys, WhenFull when_full) {
    QueueOptions options = queue_options_;
    options.max_pending = keys;
    options.when_full = when_full;
    CloseAndOpen(options);
  }
  std::future<Status> AddInBackground(std::string key) {
    return std::async(std::launch::async,
                      [queue = queue_, key = std::move(key)] { return queue->Add(key); });
  }
  std::string GetTwo() {
    const std::string first = Get();
    return first + " " + Get();
  }
  // Until so many Adds have found the queue full. Those that may wait do so by then.
  void AwaitFull(uint64_t adds) {
    ASSERT_TRUE(support::Eventually([&] { return queue_->Counts().full >= adds; }));
  }
};

// --- Full queues ---

TEST_F(FlowTest, AFullQueueRefusesAKeyMoreAndTakesTheOthers) {
  Bound(2, WhenFull::kRefuse);
  Add("a");
  Add("b");
  const Status s = queue_->Add("c");
  EXPECT_EQ(s.code(), StatusCode::kFull);
  EXPECT_THAT(s.message(), HasSubstr("queue 'q' is full: 2 keys are pending, the bound is 2"));
  EXPECT_TRUE(queue_->Add("a").ok()) << "it is pending already";
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(queue_->Add("c").code(), StatusCode::kFull) << "a held key is pending";
  EXPECT_TRUE(queue_->Add("a").ok());
  EXPECT_TRUE(queue_->AddRateLimited("a").ok()) << "a retry is never refused";
  EXPECT_TRUE(queue_->AddAfter("c", 1s).ok()) << "a delayed key is not pending";
  EXPECT_EQ(queue_->Counts().full, 2u);
  EXPECT_TRUE(queue_->Remove("b").ok());
  EXPECT_TRUE(queue_->Add("d").ok());
}

// A producer that was just served waits behind those that wait already.
TEST_F(FlowTest, AddsThatWaitForRoomAreMadeInTurn) {
  Bound(1, WhenFull::kWait);
  Add("first");
  EXPECT_EQ(Get(), "first");
  constexpr size_t kProducers = 4;
  std::vector<std::future<Status>> producers;
  for (size_t i = 0; i < kProducers; ++i) {
    producers.push_back(std::async(std::launch::async, [this, i] {
      Status s;
      for (int n = 0; s.ok(); ++n) {
        s = queue_->Add(std::to_string(i) + "/" + std::to_string(n));
      }
      return s;
    }));
  }
  constexpr size_t kTurns = 100 * kProducers;
  std::string held = "first";
  std::vector<size_t> turns;
  for (size_t i = 0; i < kTurns; ++i) {
    ASSERT_NO_FATAL_FAILURE(
        AwaitFull(kProducers + i));  // All wait, the one that was just served behind the others.
    ASSERT_TRUE(queue_->Done(held).ok());
    ASSERT_TRUE(queue_->Get(&held).ok());
    turns.push_back(std::stoul(held));
  }
  queue_->Stop();
  for (std::future<Status>& each : producers) {
    EXPECT_EQ(each.get().code(), StatusCode::kShuttingDown);
  }
  for (size_t i = kProducers; i < kTurns; ++i) {
    ASSERT_EQ(turns[i], turns[i - kProducers]) << "turn " << i;
  }
}

TEST_F(FlowTest, TheTimeOfAnAddThatWaitedIsThatAtWhichItIsMade) {
  for (const bool batch : {false, true}) {
    Bound(1, WhenFull::kWait);
    const uint64_t full = queue_->Counts().full;
    Add("first");
    ASSERT_EQ(Get(), "first");
    auto add = std::async(std::launch::async, [&] {
      return batch ? queue_->AddBatch(std::vector<std::string_view>{"waits"})
                   : queue_->Add("waits");
    });
    ASSERT_NO_FATAL_FAILURE(AwaitFull(full + 1));
    clock_.Advance(2s);
    ASSERT_TRUE(queue_->Done("first").ok());
    ASSERT_TRUE(add.get().ok());
    std::vector<HeldKey> keys;
    ASSERT_TRUE(queue_->TryGet(1, &keys).ok());
    EXPECT_EQ(keys.at(0).added_at_us, clock_.WallUs());
    ASSERT_TRUE(queue_->Done("waits").ok());
  }
}

TEST_F(FlowTest, AnAddWaitsForNoLongerThanItSays) {
  Bound(1, WhenFull::kWait);
  Add("a");
  EXPECT_EQ(queue_->Add("b", {.wait_for_room = 0s}).code(), StatusCode::kFull);
  EXPECT_EQ(queue_->Add("b", {.wait_for_room = 10ms}).code(), StatusCode::kFull);
  BatchResult result;
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  EXPECT_TRUE(queue_->AddBatch(keys, {.wait_for_room = 10ms}, &result).ok());
  EXPECT_EQ(result.refused.size(), 2u);
}

TEST_F(FlowTest, ABatchThatWaitsForRoomAsksForTheGroupOfEachKeyOnce) {
  constexpr size_t kKeys = 600;  // More than two steps.
  std::atomic<size_t> calls{0};
  queue_options_.group_of = [&calls](std::string_view key) {
    ++calls;
    return std::string(key);
  };
  Bound(1, WhenFull::kWait);
  std::vector<std::string> keys;
  for (size_t i = 0; i < kKeys; ++i) {
    keys.push_back("key " + std::to_string(i));
  }
  std::future<Status> batch = std::async(std::launch::async, [this, &keys] {
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    return queue_->AddBatch(views);
  });
  for (size_t i = 0; i < kKeys; ++i) {
    std::string key;
    EXPECT_TRUE(queue_->GetFor(support::kPatience, &key).ok());
    EXPECT_TRUE(queue_->Done(key).ok());
  }
  EXPECT_TRUE(batch.get().ok());
  EXPECT_EQ(calls, kKeys);
}

TEST_F(FlowTest, AShutDownEndsTheWaitForRoom) {
  Bound(1, WhenFull::kWait);
  Add("a");
  std::future<Status> one = AddInBackground("b");
  std::future<Status> batch = std::async(std::launch::async, [this] {
    const std::vector<std::string_view> keys = {"a", "c"};
    return queue_->AddBatch(keys);
  });
  AwaitFull(2);
  queue_->ShutDown();
  EXPECT_EQ(one.get().code(), StatusCode::kShuttingDown);
  EXPECT_EQ(batch.get().code(), StatusCode::kShuttingDown);
  EXPECT_EQ(Get(), "a");
}

// --- Debounced Adds ---

TEST_F(FlowTest, AQueueGathersAddsUnlessTheCallSaysOtherwise) {
  queue_options_.debounce = {1s, 10s};
  CloseAndOpen();
  Add("a");
  const std::vector<std::string_view> keys = {"b"};
  ASSERT_TRUE(queue_->AddBatch(keys).ok());
  EXPECT_EQ(queue_->Counts().delayed, 2u);
  ASSERT_TRUE(queue_->Add("now", {.debounce = Debounce{}}).ok());
  ASSERT_TRUE(queue_->AddAfter("too", 0s).ok());
  EXPECT_EQ(GetTwo(), "now too");
  CloseAndOpen();
  clock_.Advance(1s);
  EXPECT_EQ(GetTwo(), "now too") << "they were pending";
  EXPECT_EQ(GetTwo(), "a b");
}

TEST_F(FlowTest, ACallGathersAdds) {
  const AddOptions gathered{.debounce = Debounce{1s, 10s}};
  ASSERT_TRUE(queue_->Add("a", gathered).ok());
  clock_.Advance(999ms);
  ASSERT_TRUE(queue_->Add("a", gathered).ok());
  clock_.Advance(999ms);
  EXPECT_EQ(Get(), "TimedOut");
  clock_.Advance(1ms);
  EXPECT_EQ(Get(), "a");
}

// --- Stuck keys ---

TEST_F(FlowTest, AKeyThatIsHeldForLongIsCounted) {
  queue_options_.stuck_after = 5s;
  CloseAndOpen();
  Add("a");
  EXPECT_EQ(Get(), "a");
  queue_->ShutDown();
  EXPECT_EQ(queue_->Counts().stuck, 0u);
  clock_.Advance(5s);
  EXPECT_EQ(queue_->Counts().stuck, 1u) << "a drain waits for it";
  EXPECT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(queue_->Counts().stuck, 0u);
}

// --- Options that are refused ---

TEST_F(FlowTest, BadOptionsAreRefusedByName) {
  const auto refused = [this](const QueueOptions& options) {
    Queue* queue = nullptr;
    const Status s = store_->OpenQueue("other", options, &queue);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(queue, nullptr);
    return s.message();
  };
  EXPECT_THAT(refused({.stuck_after = kMaxDelay + 1us}), HasSubstr("stuck_after is "));
  EXPECT_THAT(refused({.debounce = {2s, 1s}}), HasSubstr("a longest wait of 1000000 us"));
  EXPECT_THAT(refused({.resync = {999us}}), HasSubstr("resync has a period of 999 us"));
  EXPECT_THAT(refused({.resync = {1s, 0.6}}), HasSubstr("a jitter of 0.6,"));
  EXPECT_THAT(queue_->Add("a", {.debounce = Debounce{-1us, 1s}}).message(),
              HasSubstr("a quiet time of -1 us"));
}

}  // namespace
}  // namespace wq
