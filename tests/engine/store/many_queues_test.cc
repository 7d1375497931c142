// Many queues in one store, many openings of one queue, and many keys that come and go: what was
// removed keeps no memory.
//
// WQ_OPENINGS is the number of openings.

#include <malloc.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/state/queue_state.h"
#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

class ManyQueuesTest : public ::testing::Test {
 protected:
  void Open() {
    store_.reset();
    const Status s = Store::Open({.create_if_missing = true}, root_ / "store", &store_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  Queue* OpenQueue(const std::string& name) {
    Queue* queue = nullptr;
    const Status s = store_->OpenQueue(name, {}, &queue);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return queue;
  }

  const support::ScratchDirectory root_;
  std::unique_ptr<Store> store_;
};

// The bytes that malloc has handed out. 0 under the address sanitizer.
size_t MemoryInUse() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST_F(ManyQueuesTest, AClosedQueueKeepsLittleMemory) {
  constexpr uint64_t kKeys = 10;
  const uint64_t openings = support::FromEnvironment("WQ_OPENINGS", 20'000);
  ASSERT_NO_FATAL_FAILURE(Open());
  Queue* queue = OpenQueue("q");
  ASSERT_NE(queue, nullptr);
  for (uint64_t i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(i) + std::string(1000, 'k');
    ASSERT_TRUE(queue->Add(key).ok());
    ASSERT_TRUE(queue->AddAfter(key, std::chrono::hours(1)).ok());
  }
  ASSERT_TRUE(queue->SetCursor("c", std::string(1000, 'c')).ok());
  const size_t before = MemoryInUse();
  for (uint64_t i = 0; i < openings; ++i) {
    ASSERT_TRUE(store_->CloseQueue(queue).ok());
    queue = OpenQueue("q");
    ASSERT_NE(queue, nullptr);
    ASSERT_EQ(queue->Len(), kKeys);
    ASSERT_EQ(queue->Counts().delayed, kKeys);
  }
  const size_t after = MemoryInUse();
  std::cout << openings << " openings, " << after / 1024 << " KiB in use after them\n";
  EXPECT_LT(after, before + openings * 1000 + (size_t{1} << 20));
}

// --- Keys that were removed ---

// Adds and removes each key from `begin` to `end` in every way that a queue has.
void PassThrough(int begin, int end, QueueState* state) {
  const Time now{1'000'000, 1'000'000};
  for (int i = begin; i < end; ++i) {
    const std::string key = "a key of a usual length " + std::to_string(i);
    state->Add(key, {.group = key}, now.wall_us);
    ASSERT_NE(state->Get(0), nullptr);
    ASSERT_TRUE(state->Done(key));
    state->AddAfter(key, 1'000'000, {}, now);
    ASSERT_TRUE(state->CancelDelay(key));
    state->AddRateLimited(key, {.delay_us = 0, .error = "an error"}, {}, now);
    ASSERT_TRUE(state->Remove(key));
    state->Forget(key);
    state->Quarantine(key, "an error", now);
    ASSERT_TRUE(state->Drop(key));
  }
}

// Keys that come and go take the places of those before them; and a queue that was large gives all
// of its memory back.
TEST(QueueStateMemory, IsInProportionToTheKeysThatAreThere) {
  constexpr size_t kKeys = 100'000;
  const auto key = [](size_t i) { return "a key " + std::to_string(i); };
  const Time now{1'000'000, 1'000'000};
  QueueState state(1, {}, nullptr);
  const auto add = [&](size_t i) {
    state.Add(key(i), {}, now.wall_us);
    state.AddAfter(key(i), 1'000'000 + static_cast<int64_t>(i * 7919 % kKeys), {}, now);
  };
  const auto remove = [&](size_t i) {
    ASSERT_TRUE(state.Remove(key(i)));
    ASSERT_TRUE(state.CancelDelay(key(i)));
  };
  const size_t empty = MemoryInUse();
  for (size_t i = 0; i < kKeys; ++i) add(i);
  const size_t full = MemoryInUse();
  for (size_t i = 0; i < kKeys; ++i) {
    remove(i);
    add(kKeys + i);
  }
  EXPECT_LE(MemoryInUse(), full + (full - empty) / 16);
  for (size_t i = 0; i < kKeys; ++i) remove(kKeys + i * 7919 % kKeys);
  EXPECT_LE(MemoryInUse(), empty + (full - empty) / 16);
}

TEST(QueueStateMemory, KeysThatAreForgottenLeaveNothing) {
  QueueState state(1, {.order = Order::kFair}, nullptr);
  PassThrough(0, 1000, &state);
  const size_t before = MemoryInUse();
  PassThrough(1000, 21'000, &state);
  EXPECT_LT(MemoryInUse(), before + 20'000);
}

}  // namespace
}  // namespace wq
