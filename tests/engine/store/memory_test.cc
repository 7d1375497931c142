// A queue keeps no memory for keys that were removed from it.

#include <malloc.h>

#include <string>

#include <gtest/gtest.h>

#include "engine/state/queue_state.h"

namespace wq {
namespace {

size_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

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
  const size_t empty = AllocatedBytes();
  for (size_t i = 0; i < kKeys; ++i) add(i);
  const size_t full = AllocatedBytes();
  for (size_t i = 0; i < kKeys; ++i) {
    remove(i);
    add(kKeys + i);
  }
  EXPECT_LE(AllocatedBytes(), full + (full - empty) / 16);
  for (size_t i = 0; i < kKeys; ++i) remove(kKeys + i * 7919 % kKeys);
  EXPECT_LE(AllocatedBytes(), empty + (full - empty) / 16);
}

TEST(QueueStateMemory, KeysThatAreForgottenLeaveNothing) {
  QueueState state(1, {.order = Order::kFair}, nullptr);
  PassThrough(0, 1000, &state);
  const size_t before = AllocatedBytes();
  PassThrough(1000, 21'000, &state);
  EXPECT_LT(AllocatedBytes(), before + 20'000);
}

}  // namespace
}  // namespace wq
