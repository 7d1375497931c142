// LeaseKeeper: until when an owner may act, whatever the log's answers do.
#include "engine/replication/lease_keeper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/replication/fence.h"
#include "storage/replication/memory_log.h"
#include "tests/engine/replication/replicated_fixture.h"
#include "tests/support/faulty_log.h"
#include "wq/clock.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using support::FaultyLog;

int64_t Us(std::chrono::milliseconds time) { return std::chrono::microseconds(time).count(); }

class LeaseKeeperTest : public testing::Test {
 protected:
  void Own(std::chrono::milliseconds lease) {
    ASSERT_TRUE(log_->Acquire("a", lease, &lease_).ok());
    fence_ = std::make_shared<Fence>(lease_.epoch);
    begun_us_ = Clock::System()->SteadyUs();
    fence_->ExtendTo(begun_us_ + Us(lease) - Us(kMargin));
  }
  std::unique_ptr<LeaseKeeper> Keep() {
    return std::make_unique<LeaseKeeper>(log_.get(), lease_, fence_, kMargin, [this] {
      const MutexLock lock(mu_);
      ++lost_;
    });
  }
  int Lost() {
    const MutexLock lock(mu_);
    return lost_;
  }

  static constexpr std::chrono::milliseconds kMargin{50};
  const std::shared_ptr<FaultyLog> log_ =
      std::make_shared<FaultyLog>(std::make_shared<storage::MemoryLog>());
  LogLease lease_;
  std::shared_ptr<Fence> fence_;
  int64_t begun_us_ = 0;
  Mutex mu_;
  CondVar cv_;
  int lost_ WQ_GUARDED_BY(mu_) = 0;
  std::optional<int64_t> sent_us_ WQ_GUARDED_BY(mu_);
};

TEST_F(LeaseKeeperTest, AnAnswerThatComesLateExtendsTheFenceFromTheTimeOfItsRequest) {
  ASSERT_NO_FATAL_FAILURE(Own(1500ms));
  // The request waits on its way for most of the rest of the lease.
  log_->SetHook([this](std::string_view call) {
    if (call != "Renew") return FaultyLog::Fault::kNone;
    const MutexLock lock(mu_);
    if (sent_us_.has_value()) return FaultyLog::Fault::kBefore;  // Only the first is answered.
    sent_us_ = Clock::System()->SteadyUs();
    const auto until = std::chrono::steady_clock::now() + 400ms;
    while (cv_.WaitUntil(mu_, until)) {
    }
    return FaultyLog::Fault::kNone;
  });
  const int64_t before_us = fence_->until_us();
  const std::unique_ptr<LeaseKeeper> keeper = Keep();
  ASSERT_TRUE(Eventually([&] { return fence_->until_us() != before_us; }));
  const int64_t until_us = fence_->until_us();
  int64_t sent_us = 0;
  {
    const MutexLock lock(mu_);
    sent_us = *sent_us_;
  }
  EXPECT_GT(until_us, before_us);
  EXPECT_LE(until_us, sent_us + Us(1500ms) - Us(kMargin));
}

TEST_F(LeaseKeeperTest, WithoutAnswersTheFenceEndsAtItsTime) {
  ASSERT_NO_FATAL_FAILURE(Own(600ms));
  log_->Cut(true);
  const int64_t until_us = fence_->until_us();
  const std::unique_ptr<LeaseKeeper> keeper = Keep();
  ASSERT_TRUE(Eventually([&] { return Lost() > 0; }));
  EXPECT_GE(Clock::System()->SteadyUs(), until_us);
  EXPECT_FALSE(fence_->Holds());
  EXPECT_EQ(fence_->Refusal().code(), StatusCode::kNotOwner);
  EXPECT_EQ(keeper->Problem().code(), StatusCode::kIOError);
  keeper->Stop();
  EXPECT_EQ(Lost(), 1);
  fence_->ExtendTo(INT64_MAX);  // For good.
  EXPECT_FALSE(fence_->Holds());
}

TEST_F(LeaseKeeperTest, TheEndOfTheLeaseDropsTheFenceAtOnce) {
  ASSERT_NO_FATAL_FAILURE(Own(900ms));
  ASSERT_TRUE(log_->Release(lease_).ok());
  fence_->ExtendTo(Clock::System()->SteadyUs() + Us(60'000ms));
  const std::unique_ptr<LeaseKeeper> keeper = Keep();
  ASSERT_TRUE(Eventually([&] { return Lost() > 0; }));
  EXPECT_FALSE(fence_->Holds());
}

TEST_F(LeaseKeeperTest, ALostAnswerIsAskedForAgain) {
  ASSERT_NO_FATAL_FAILURE(Own(900ms));
  log_->FailNext(2, FaultyLog::Fault::kAfter);
  const int64_t before_us = fence_->until_us();
  const std::unique_ptr<LeaseKeeper> keeper = Keep();
  ASSERT_TRUE(Eventually([&] { return fence_->until_us() > before_us; }));
  EXPECT_TRUE(fence_->Holds());
  EXPECT_EQ(Lost(), 0);
}

// The system's clock, on which all threads but that of the test can be made to stand.
class StallingClock final : public Clock {
 public:
  int64_t SteadyUs() const override { return System()->SteadyUs(); }
  int64_t WallUs() const override {
    const MutexLock lock(mu_);
    while (stalled_ && std::this_thread::get_id() != test_) cv_.Wait(mu_);
    return System()->WallUs();
  }
  uint64_t Subscribe(std::function<void()> wake) override {
    return System()->Subscribe(std::move(wake));
  }
  void Unsubscribe(uint64_t id) override { System()->Unsubscribe(id); }

  void Stall(bool stalled) {
    const MutexLock lock(mu_);
    stalled_ = stalled;
    cv_.NotifyAll();
  }

 private:
  const std::thread::id test_ = std::this_thread::get_id();
  mutable Mutex mu_;
  mutable CondVar cv_;
  bool stalled_ WQ_GUARDED_BY(mu_) = false;
};

class HandOutTest : public ReplicatedStoreFixture {
 protected:
  StallingClock clock_;
};

// The threads of the store stand, so that none of them ends the ownership: it has to end by itself.
TEST_F(HandOutTest, NothingIsHandedOutOrTakenAfterALeaseThatCouldNotBeRenewed) {
  const auto link = std::make_shared<FaultyLog>(log_);
  StoreOptions options = Options("a");
  options.replication->log = link;
  options.clock = &clock_;
  const std::unique_ptr<Store> store = OpenWith("a", options);
  Queue* queue = nullptr;
  ASSERT_NO_FATAL_FAILURE(Lead(store.get(), &queue));
  ASSERT_TRUE(queue->Add("one", {.durability = Durability::kReplicated}).ok());
  ASSERT_TRUE(queue->Add("two", {.durability = Durability::kReplicated}).ok());
  clock_.Stall(true);
  link->Cut(true);
  EXPECT_TRUE(Eventually([&] {
    LogState state;
    return log_->State(&state).ok() && state.owner.epoch == 0;
  }));
  EXPECT_FALSE(store->IsOwner());
  std::vector<HeldKey> held;
  EXPECT_EQ(queue->TryGet(1, &held).code(), StatusCode::kNotOwner);
  std::string key;
  EXPECT_EQ(queue->GetFor(0us, &key).code(), StatusCode::kNotOwner);
  if (!HasFailure()) {  // It would wait for a key.
    EXPECT_EQ(queue->Get(&key).code(), StatusCode::kNotOwner);
  }
  EXPECT_EQ(queue->Add("three", {.durability = Durability::kAsync}).code(), StatusCode::kNotOwner);
  EXPECT_EQ(queue->Done("one").code(), StatusCode::kNotOwner);
  clock_.Stall(false);
  link->Cut(false);
}

}  // namespace
}  // namespace wq
