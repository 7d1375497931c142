// Which waiting threads are taken out, however late those run that were taken out before.

#include "engine/queue/getter_queue.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace wq {
namespace {

// Threads that wait until they are taken out. The lock is held wherever the test looks, so a thread
// that was taken out cannot run meanwhile.
class GetterQueueTest : public ::testing::Test {
 protected:
  void Begin(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        const MutexLock lock(mu_);
        ++waiting_;
        changed_.NotifyOne();
        getters_.Wait(mu_, std::nullopt);
        --waiting_;
        changed_.NotifyOne();
      });
    }
    AwaitWaiting(count);
  }
  void AwaitWaiting(int count) {
    const MutexLock lock(mu_);
    while (waiting_ != count) {
      changed_.Wait(mu_);
    }
  }
  ~GetterQueueTest() override {
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  Mutex mu_;
  CondVar changed_;
  GetterQueue getters_ WQ_GUARDED_BY(mu_){GetterQueue::First::kNewest};
  int waiting_ WQ_GUARDED_BY(mu_) = 0;
  std::vector<std::thread> threads_;
};

// One transition makes one key free, the next one another, and only then do the threads run.
TEST_F(GetterQueueTest, AThreadThatHasNotRunYetIsCountedOnce) {
  Begin(3);
  GetterQueue::Woken woken;
  {
    const MutexLock lock(mu_);
    woken.Add(getters_.TakeFor(1));
    EXPECT_FALSE(woken.empty());
    EXPECT_TRUE(getters_.TakeFor(1).empty());  // It is for the same key.
    GetterQueue::Woken second = getters_.TakeFor(2);
    EXPECT_FALSE(second.empty());
    woken.Add(std::move(second));
    EXPECT_FALSE(getters_.empty());
  }
  woken.Notify();
  AwaitWaiting(1);
  {
    const MutexLock lock(mu_);
    EXPECT_TRUE(getters_.TakeFor(0).empty());
    woken.Add(getters_.TakeFor(5));
    EXPECT_TRUE(getters_.empty());
  }
  woken.Notify();
  AwaitWaiting(0);
}

TEST_F(GetterQueueTest, AThreadWhoseDeadlineHasPassedIsNotCounted) {
  {
    const MutexLock lock(mu_);
    EXPECT_FALSE(getters_.Wait(mu_, std::chrono::steady_clock::now()));
    EXPECT_TRUE(getters_.empty());
  }
  Begin(1);
  GetterQueue::Woken woken;
  {
    const MutexLock lock(mu_);
    woken = getters_.TakeFor(1);
    EXPECT_FALSE(woken.empty());
  }
  woken.Notify();
}

}  // namespace
}  // namespace wq
