// Whatever has become of the queue since a key was handed out, its worker can requeue it: otherwise
// the Done that follows would lose the key.

#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const std::string kKey(100, 'k');

// What makes a queue refuse Adds. (What puts the key into a state of its own is the model's.)
enum class Trouble : uint8_t {
  kNone,
  kShorterKeys,
  kShutDown,
  kStopped,
  kFailedStore,
};
constexpr int kTroubles = static_cast<int>(Trouble::kFailedStore) + 1;

enum class How : uint8_t { kAdd, kAddBatch, kAtOnce, kDelayed, kRetryAtOnce, kRetryDelayed };
constexpr int kHows = static_cast<int>(How::kRetryDelayed) + 1;

class RequeueTest : public QueueTest, public testing::WithParamInterface<std::tuple<int, int>> {
 protected:
  static QueueOptions OptionsOf(Trouble trouble, How how) {
    const auto delay = seconds(how == How::kRetryAtOnce ? 0 : 1);
    return {.order = Order::kTwoLanes,
            .max_key_bytes = trouble == Trouble::kShorterKeys ? size_t{50} : size_t{4096},
            .limiter = std::make_shared<ItemExponentialFailure>(delay, delay)};
  }

  void Make(Trouble trouble) {
    switch (trouble) {
      case Trouble::kShutDown:
        queue_->ShutDown();
        break;
      case Trouble::kStopped:
        queue_->Stop();
        break;
      case Trouble::kFailedStore:
        FailWrites();
        break;
      default:
        break;
    }
  }

  Status Requeue(How how) {
    switch (how) {
      case How::kAdd:
        return queue_->Add(kKey);
      case How::kAddBatch: {
        BatchResult result;
        Status s = queue_->AddBatch(std::vector<std::string_view>{kKey}, {}, &result);
        return result.refused.empty() ? s : result.refused.front().second;
      }
      case How::kAtOnce:
        return queue_->AddAfter(kKey, seconds(0));
      case How::kDelayed:
        return queue_->AddAfter(kKey, seconds(1));
      case How::kRetryAtOnce:
      case How::kRetryDelayed:
        break;
    }
    return queue_->AddRateLimited(kKey, "why");
  }
};

TEST_P(RequeueTest, OfAHeldKeyIsNotRefusedAndItsDoneDoesNotLoseIt) {
  const auto trouble = static_cast<Trouble>(std::get<0>(GetParam()));
  const auto how = static_cast<How>(std::get<1>(GetParam()));
  ASSERT_TRUE(queue_->Add(kKey, {.lane = kSlowLane}).ok());
  CloseAndOpen(OptionsOf(trouble, how));
  ASSERT_EQ(Get(), kKey);
  Make(trouble);
  const Status requeued = Requeue(how);
  const bool add = how == How::kAdd || how == How::kAddBatch;
  if (add && (trouble == Trouble::kShutDown || trouble == Trouble::kStopped)) {
    EXPECT_EQ(requeued.code(), StatusCode::kShuttingDown);  // As documented.
    ASSERT_TRUE(queue_->PutBack(kKey).ok());
  } else {
    EXPECT_TRUE(requeued.ok() || trouble == Trouble::kFailedStore) << requeued.ToString();
    const Status done = queue_->Done(kKey);
    EXPECT_TRUE(done.ok() || done.code() == StatusCode::kNotDurable) << done.ToString();
  }
  bool found = false;
  EXPECT_TRUE(queue_
                  ->Inspect(kKey,
                            [&](const KeyInfo& info) {
                              found = info.queued || info.delayed || info.quarantined;
                            })
                  .ok());
  EXPECT_TRUE(found);
  if (trouble != Trouble::kFailedStore) {
    CloseAndOpen();
    clock_.Advance(hours(2));
    EXPECT_EQ(queue_->Len() + queue_->Quarantined().size(), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RequeueTest,
                         testing::Combine(testing::Range(0, kTroubles), testing::Range(0, kHows)));

// The worker's Add is the only one that is let through.
TEST_F(QueueTest, ALongKeyThatNoWorkerHoldsIsStillRefused) {
  Add("a long key");
  CloseAndOpen({.max_key_bytes = 4});
  EXPECT_EQ(queue_->Add("a long key").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(queue_->AddAfter("a long key", seconds(0)).code(), StatusCode::kInvalidArgument);
  ASSERT_EQ(Get(), "a long key");
  ASSERT_TRUE(queue_->Add("a long key").ok());
  ASSERT_TRUE(queue_->Done("a long key").ok());
  ASSERT_EQ(Get(), "a long key");
  ASSERT_TRUE(queue_->Done("a long key").ok());
  EXPECT_EQ(queue_->Add("a long key").code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wq
