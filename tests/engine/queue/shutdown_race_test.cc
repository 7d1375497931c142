// ShutDown at the same time as each call that puts a key into the queue: once ShutDown has
// returned, no such call does so any more.
//
// WQ_SEED picks the seed, WQ_STRESS_ROUNDS the number of rounds of each call.

#include <atomic>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

using support::FromEnvironment;

struct AddingCall {
  const char* name;
  std::function<Status(Queue*)> add;      // Puts the key "a" into the queue.
  std::function<Status(Queue*)> restore;  // Makes the next `add` possible.
};
void PrintTo(const AddingCall& call, std::ostream* out) { *out << call.name; }

class ShutDownRaceTest : public ::testing::TestWithParam<AddingCall> {};

TEST_P(ShutDownRaceTest, NoKeyIsAddedAfterShutDownHasReturned) {
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_STRESS_ROUNDS", 200);
  std::cout << "seed: WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  for (uint64_t round = 0; round < rounds; ++round) {
    std::unique_ptr<Store> store;
    ASSERT_TRUE(Store::OpenInMemory({}, &store).ok());
    Queue* queue = nullptr;
    ASSERT_TRUE(store->OpenQueue("q", {}, &queue).ok());
    ASSERT_TRUE(GetParam().restore(queue).ok());
    std::atomic<uint64_t> calls = 0;
    std::thread caller([&] {
      Status s;
      while (s.ok()) {
        s = GetParam().add(queue);
        ++calls;
        calls.notify_one();
        if (s.ok()) {
          s = GetParam().restore(queue);
        }
      }
      EXPECT_EQ(s.code(), StatusCode::kShuttingDown) << s.ToString();
      calls = UINT64_MAX;
      calls.notify_one();
    });
    const uint64_t until = random() % 100;
    for (uint64_t made = 0; made < until; made = calls) {
      calls.wait(made);
    }
    queue->ShutDown();
    const uint64_t adds = queue->Counts().adds;
    caller.join();
    ASSERT_EQ(queue->Counts().adds, adds) << "round " << round;
  }
}

Status Delay(Queue* queue) {
  static_cast<void>(queue->Remove("a"));  // It is queued, except at first.
  return queue->AddAfter("a", std::chrono::hours(1));
}
Status Remove(Queue* queue) {
  static_cast<void>(queue->Remove("a"));
  return {};
}

INSTANTIATE_TEST_SUITE_P(
    Calls, ShutDownRaceTest,
    ::testing::Values(
        AddingCall{"Add", [](Queue* queue) { return queue->Add("a"); }, Remove},
        AddingCall{"AddBatch",
                   [](Queue* queue) { return queue->AddBatch(std::vector<std::string_view>{"a"}); },
                   Remove},
        AddingCall{"EndDelay", [](Queue* queue) { return queue->EndDelay("a"); }, Delay},
        AddingCall{"Release", [](Queue* queue) { return queue->Release("a"); },
                   [](Queue* queue) { return queue->Quarantine("a"); }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq
