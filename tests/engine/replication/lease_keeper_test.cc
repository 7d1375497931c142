// LeaseKeeper: until when an owner may act, whatever the log's answers do.
#include "engine/replication/lease_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/replication/fence.h"
#include "tests/engine/replication/replicated_fixture.h"
#include "tests/support/faulty_log.h"
#include "tests/support/memory_log.h"
#include "tests/support/wait.h"
#include "wq/clock.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using support::FaultyLog;

int64_t Us(std::chrono::milliseconds time) { return std::chrono::microseconds(time).count(); }

class LeaseKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(log_->Acquire("a", kLease, &lease_).ok());
    fence_ = std::make_shared<Fence>(lease_.epoch);
    fence_->ExtendTo(Clock::System()->SteadyUs() + Us(kLease) - Us(kMargin));
  }
  // The keeper takes the first lease for a short one, and so renews it at once. In the log it is
  // long, and so is the one that a renewal returns.
  std::unique_ptr<LeaseKeeper> Keep() {
    LogLease lease = lease_;
    lease.ttl = 3ms;
    return std::make_unique<LeaseKeeper>(log_.get(), lease, fence_, kMargin, [this] {
      const MutexLock lock(mu_);
      ++lost_;
      lost_us_ = Clock::System()->SteadyUs();
    });
  }
  int Lost() {
    const MutexLock lock(mu_);
    return lost_;
  }

  static constexpr std::chrono::milliseconds kLease = 1h;
  static constexpr std::chrono::milliseconds kMargin{50};
  const std::shared_ptr<FaultyLog> log_ =
      std::make_shared<FaultyLog>(std::make_shared<support::MemoryLog>());
  LogLease lease_;
  std::shared_ptr<Fence> fence_;
  Mutex mu_;
  int lost_ WQ_GUARDED_BY(mu_) = 0;
  int64_t lost_us_ WQ_GUARDED_BY(mu_) = 0;
};

TEST_F(LeaseKeeperTest, AnAnswerThatComesLateExtendsTheFenceFromTheTimeOfItsRequest) {
  int64_t sent_us = 0;
  log_->SetHook([&sent_us](std::string_view call) {
    if (call == "Renew") {
      sent_us = Clock::System()->SteadyUs();
      while (Clock::System()->SteadyUs() == sent_us) {  // A microsecond on its way is late.
      }
    }
    return FaultyLog::Fault::kNone;
  });
  const int64_t before_us = fence_->until_us();
  const std::unique_ptr<LeaseKeeper> keeper = Keep();
  ASSERT_TRUE(Eventually([&] { return fence_->until_us() != before_us; }));
  EXPECT_GT(fence_->until_us(), before_us);
  EXPECT_LE(fence_->until_us(), sent_us + Us(kLease) - Us(kMargin));
}

TEST_F(LeaseKeeperTest, WithoutAnswersTheFenceEndsAtItsTime) {
  log_->Cut(true);
  fence_->ExtendTo(Clock::System()->SteadyUs() + Us(50ms));
  const int64_t until_us = fence_->until_us();
  const std::unique_ptr<LeaseKeeper> keeper = Keep();
  ASSERT_TRUE(Eventually([&] { return Lost() > 0; }));
  EXPECT_FALSE(fence_->Holds());
  EXPECT_EQ(fence_->Refusal().code(), StatusCode::kNotOwner);
  EXPECT_EQ(keeper->Problem().code(), StatusCode::kIOError);
  keeper->Stop();
  EXPECT_EQ(Lost(), 1);
  {
    const MutexLock lock(mu_);
    EXPECT_GE(lost_us_, until_us);
  }
  fence_->ExtendTo(INT64_MAX);  // For good.
  EXPECT_FALSE(fence_->Holds());
}

TEST_F(LeaseKeeperTest, TheEndOfTheLeaseDropsTheFenceAtOnce) {
  ASSERT_TRUE(log_->Release(lease_).ok());
  const std::unique_ptr<LeaseKeeper> keeper = Keep();
  ASSERT_TRUE(Eventually([&] { return Lost() > 0; }));
  EXPECT_FALSE(fence_->Holds());
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
  options.replication->lease = 3s;
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
