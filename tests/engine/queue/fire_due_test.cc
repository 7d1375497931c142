// A Get that fires the delay of a key which it does not serve: the worker of that key has to be
// woken.

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "engine/state/group_table.h"
#include "tests/engine/queue/metrics_fixture.h"
#include "tests/support/wait.h"
#include "wq/clock.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

// Its time advances without a notification, so the timer sees that only after 10 s. Counts the
// readings of the threads that call Get.
class SilentClock final : public Clock {
 public:
  int64_t SteadyUs() const override {
    reads += is_getter ? 1 : 0;
    return now_us;
  }
  int64_t WallUs() const override { return now_us; }

  std::atomic<int64_t> now_us{1'000'000};
  mutable std::atomic<int> reads{0};
  static thread_local bool is_getter;
};
thread_local bool SilentClock::is_getter = false;

TEST(QueueFireDue, WakesTheWorkerOfTheShard) {
  SilentClock clock;
  const auto provider = std::make_shared<FakeProvider>();
  StoreOptions store_options;
  store_options.clock = &clock;
  store_options.metrics = provider;
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::OpenInMemory(store_options, &store).ok());
  Queue* queue = nullptr;
  ASSERT_TRUE(store->OpenQueue("q", {.shards = 2}, &queue).ok());
  std::unique_ptr<Worker> first;
  std::unique_ptr<Worker> second;
  ASSERT_TRUE(queue->Join(&first).ok());
  ASSERT_TRUE(queue->Join(&second).ok());

  std::string key = "a";  // Of the shard that `second` serves.
  while (ShardOf(key, 2) != second->Shards().front()) {
    key += "a";
  }
  ASSERT_TRUE(queue->AddAfter(key, std::chrono::seconds(1)).ok());
  const auto get_in_background = [&clock](Worker* worker) {
    const int reads = clock.reads;
    auto got = std::async(std::launch::async, [worker] {
      SilentClock::is_getter = true;
      std::string own;
      const Status s = worker->Get(&own);
      return s.ok() ? own : std::string(StatusCodeName(s.code()));
    });
    // From that reading on it holds the queue's lock until it waits.
    EXPECT_TRUE(support::Eventually([&] { return clock.reads != reads; }));
    return got;
  };
  std::future<std::string> of_second = get_in_background(second.get());
  EXPECT_FALSE(queue->AddedAgain(key));  // Takes the lock: so `second` waits now.
  clock.now_us += 1'000'000;
  std::future<std::string> of_first = get_in_background(first.get());
  EXPECT_EQ(of_second.wait_for(support::kPatience), std::future_status::ready);
  EXPECT_TRUE(store->Close().ok());
  EXPECT_EQ(of_second.get(), key);
  EXPECT_EQ(of_first.get(), "ShuttingDown");
  EXPECT_EQ(provider->Count("workqueue_adds_total{controller=q,name=q}"), 1U);
}

}  // namespace
}  // namespace wq
