// Queue::ListenReady: its function is called after every change by which another Get may succeed or
// end.

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using std::chrono::microseconds;

class ReadyTest : public QueueTest {
 protected:
  ReadyTest() {
    Listen([this] { ++calls_; });
  }
  ~ReadyTest() override { listener_.reset(); }  // Before the store.

  void Listen(std::function<void()> on_ready) {
    listener_ = queue_->ListenReady(std::move(on_ready));
  }
  void Open(const QueueOptions& options) {
    listener_.reset();
    CloseAndOpen(options);
    Listen([this] { ++calls_; });
  }

  // The number of calls since the last Calls().
  int Calls() { return calls_.exchange(0); }

  std::atomic<int> calls_{0};
  std::unique_ptr<ReadyListener> listener_;
};

TEST_F(ReadyTest, IsCalledAfterEachChangeByWhichAGetMaySucceedOrEnd) {
  Add("a");
  EXPECT_EQ(Calls(), 1);
  Add("a");  // A duplicate.
  EXPECT_EQ(Get(), "a");
  Add("a");  // It is queued by Done.
  EXPECT_EQ(Calls(), 0);
  EXPECT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(Calls(), 1);
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(queue_->Done("a").ok());
  ASSERT_TRUE(queue_->AddAfter("b", microseconds(10)).ok());
  EXPECT_EQ(Calls(), 0);
  clock_.Advance(microseconds(10));
  EXPECT_EQ(queue_->Len(), 1u);  // Fires it, if the timer has not.
  EXPECT_EQ(Calls(), 1);
  ASSERT_TRUE(queue_->Pause().ok());
  Calls();
  ASSERT_TRUE(queue_->Resume().ok());
  EXPECT_EQ(Calls(), 1);
  queue_->ShutDown();
  EXPECT_EQ(Calls(), 1);
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Calls(), 1);  // Other Gets end now, with ShuttingDown.
  queue_->Stop();
  EXPECT_EQ(Calls(), 1);
}

TEST_F(ReadyTest, IsCalledWhenShardsChangeHands) {
  QueueOptions options = queue_options_;
  options.shards = 2;
  Open(options);
  Calls();
  std::unique_ptr<Worker> worker;
  ASSERT_TRUE(queue_->Join(&worker).ok());
  EXPECT_EQ(Calls(), 1);
  worker.reset();
  EXPECT_EQ(Calls(), 1);
}

// --- Several listeners ---

TEST_F(ReadyTest, EachListenerIsCalledUntilItIsDestroyed) {
  std::atomic<int> first = 0;
  std::atomic<int> second = 0;
  auto one = queue_->ListenReady([&first] { ++first; });
  auto two = queue_->ListenReady([&second] { ++second; });
  Add("a");
  EXPECT_EQ(Get(), "a");
  ASSERT_TRUE(queue_->PutBack("a").ok());
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 2);
  one.reset();
  Add("b");
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 3);
  queue_->ShutDown();
  EXPECT_EQ(second, 4);
  two.reset();
  queue_->Stop();
  EXPECT_EQ(second, 4);
  EXPECT_EQ(Calls(), 5);  // Beside them.
}

TEST_F(ReadyTest, AListenerMayUseTheQueueAndRemoveAnother) {
  std::unique_ptr<ReadyListener> other;
  int others = 0;
  std::vector<HeldKey> keys;
  const auto taking = queue_->ListenReady([&] {
    other.reset();
    static_cast<void>(queue_->TryGet(1, &keys));
    if (keys.size() == 1) {
      Add("b");  // Calls this function again.
    }
  });
  other = queue_->ListenReady([&others] { ++others; });
  Add("a");
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[1].key, "b");
  EXPECT_EQ(others, 0);
}

TEST_F(ReadyTest, TheEndOfAListenerWaitsForACallUnderWay) {
  std::promise<void> called;
  std::promise<void> go_on;
  std::atomic<bool> returned = false;
  auto listener = queue_->ListenReady([&] {
    called.set_value();
    go_on.get_future().wait();
    returned = true;
  });
  std::thread adding([this] { Add("a"); });
  called.get_future().wait();
  std::atomic<bool> destroyed = false;
  std::thread ending([&] {
    listener.reset();
    EXPECT_TRUE(returned);
    destroyed = true;
  });
  EXPECT_FALSE(destroyed);
  go_on.set_value();
  adding.join();
  ending.join();
  EXPECT_TRUE(destroyed);
}

TEST_F(ReadyTest, AListenerThatBeganBeforeATryGetMissesNoKey) {
  constexpr int kRounds = 300;
  std::thread adding([this] {
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(queue_->Add("k" + std::to_string(i)).ok());
    }
  });
  std::vector<HeldKey> keys;
  while (keys.size() < kRounds) {
    std::promise<void> ready;
    std::atomic<bool> once = false;
    const auto listener = queue_->ListenReady([&] {
      if (!once.exchange(true)) {
        ready.set_value();
      }
    });
    if (!queue_->TryGet(1, &keys).ok()) {
      ready.get_future().wait();
    }
  }
  adding.join();
}

}  // namespace
}  // namespace wq
