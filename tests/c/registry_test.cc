// The registry of handles: a handle that was freed or is of another kind is never found.

#include "bindings/c/boundary/registry.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace wq::c {
namespace {

TEST(Registry, FindsAnObjectUntilItIsRetired) {
  Registry& registry = Registry::Instance();
  int object = 0;
  const uint64_t handle = registry.Insert(Kind::kQueue, &object);
  EXPECT_EQ(registry.Pin(Kind::kStore, handle), nullptr);
  EXPECT_EQ(registry.Pin(Kind::kQueue, handle), &object);
  bool busy = false;
  EXPECT_EQ(registry.RetireIdle(Kind::kQueue, handle, &busy), nullptr);
  EXPECT_TRUE(busy);
  registry.Unpin(handle);
  EXPECT_EQ(registry.Retire(Kind::kStore, handle), nullptr);
  EXPECT_EQ(registry.Retire(Kind::kQueue, handle), &object);
  EXPECT_EQ(registry.Retire(Kind::kQueue, handle), nullptr);
  EXPECT_EQ(registry.RetireIdle(Kind::kQueue, handle, &busy), nullptr);
  EXPECT_FALSE(busy);
  EXPECT_EQ(registry.Pin(Kind::kQueue, handle), nullptr);
  registry.WaitUnpinned(handle);
  registry.Release(handle);
}

TEST(Registry, AFreedHandleIsNotReused) {
  Registry& registry = Registry::Instance();
  int object = 0;
  uint64_t stale = 0;
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t handle = registry.Insert(Kind::kWorker, &object);
    EXPECT_NE(handle, stale);
    EXPECT_EQ(registry.Pin(Kind::kWorker, stale), nullptr);
    EXPECT_EQ(registry.Retire(Kind::kWorker, handle), &object);
    registry.Release(handle);
    stale = handle;
  }
}

TEST(Registry, NumbersThatAreNoHandlesAreRefused) {
  Registry& registry = Registry::Instance();
  for (const uint64_t number : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 56,
                                (uint64_t{2} << 56) | 0xffffff, uint64_t{0x7fffffffe000}}) {
    for (const Kind kind : {Kind::kStore, Kind::kQueue, Kind::kWorker}) {
      EXPECT_EQ(registry.Pin(kind, number), nullptr) << number;
      EXPECT_EQ(registry.Retire(kind, number), nullptr) << number;
    }
  }
}

// In each round one thread retires an object that others pin; after the wait no thread has it
// pinned.
TEST(Registry, RetiringWaitsForPins) {
  Registry& registry = Registry::Instance();
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> users = 0;
    std::atomic<bool> gone = false;
    const uint64_t handle = registry.Insert(Kind::kStore, &users);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (registry.Pin(Kind::kStore, handle) != nullptr) {
          ++users;
          EXPECT_FALSE(gone.load());
          --users;
          registry.Unpin(handle);
        }
      });
    }
    EXPECT_EQ(registry.Retire(Kind::kStore, handle), &users);
    registry.WaitUnpinned(handle);
    EXPECT_EQ(users.load(), 0);
    gone = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    registry.Release(handle);
  }
}

}  // namespace
}  // namespace wq::c
