// Many queues in one store, and many openings of one queue.
//
// WQ_OPENINGS is the number of openings.

#include <malloc.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

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

TEST_F(ManyQueuesTest, AThousandQueuesKeepTheirKeys) {
  constexpr int kQueues = 1000;
  const auto name = [](int i) { return "q" + std::to_string(i); };
  ASSERT_NO_FATAL_FAILURE(Open());
  for (int i = 0; i < kQueues; ++i) {
    Queue* const queue = OpenQueue(name(i));
    ASSERT_NE(queue, nullptr);
    ASSERT_TRUE(queue->Add("key of " + name(i)).ok());
  }
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(store_->QueueNames().size(), kQueues);
  for (int i = 0; i < kQueues; ++i) {
    Queue* const queue = OpenQueue(name(i));
    ASSERT_NE(queue, nullptr);
    EXPECT_EQ(queue->Len(), 1U) << name(i);
    std::string key;
    ASSERT_TRUE(queue->GetFor(std::chrono::microseconds(0), &key).ok()) << name(i);
    EXPECT_EQ(key, "key of " + name(i));
    ASSERT_TRUE(queue->Done(key).ok());
  }
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

}  // namespace
}  // namespace wq
