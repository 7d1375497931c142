// A Get that fires a delay which is not its own: whoever it is for must hear of it.

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "engine/state/group_table.h"
#include "tests/engine/queue/metrics_fixture.h"
#include "wq/clock.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

// Time goes on without a word to the timer, which so comes round to it only 10 s later. Counts how
// often each of two getters has looked.
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

TEST(Promote, WakesTheWorkerOfTheShard) {
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

  std::string key = "a";  // One of the shard that `second` serves.
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
    while (clock.reads == reads) {  // Then it has the queue's lock until it waits.
      std::this_thread::yield();
    }
    return got;
  };
  std::future<std::string> of_second = get_in_background(second.get());
  EXPECT_FALSE(queue->AddedAgain(key));  // Takes the lock: it waits now.
  clock.now_us += 1'000'000;
  std::future<std::string> of_first = get_in_background(first.get());
  EXPECT_EQ(of_second.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_TRUE(store->Close().ok());
  EXPECT_EQ(of_second.get(), key);
  EXPECT_EQ(of_first.get(), "ShuttingDown");
  EXPECT_EQ(provider->Count("workqueue_adds_total{controller=q,name=q}"), 1U);
}

}  // namespace
}  // namespace wq
