// Stores in the C interface: queues that are deleted leave no memory behind.

#include <malloc.h>

#include <string>

#include "tests/c/c_fixture.h"

namespace wq::c {
namespace {

TEST(StoresCTest, AThousandQueuesThatAreMadeAndDeletedTakeAMebibyte) {
  constexpr int kFirst = 100;
  constexpr int kQueues = 1000;
  const auto in_use = [] {  // 0 under the address sanitizer.
    const auto now = mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  wq_store store = WQ_NO_STORE;  // In memory: no database, whose buffers would count.
  ASSERT_EQ(wq_store_open_in_memory(nullptr, &store, nullptr), WQ_OK);
  size_t before = 0;
  for (int i = 0; i < kFirst + kQueues; ++i) {
    if (i == kFirst) {
      before = in_use();
    }
    const std::string name = "q" + std::to_string(i);
    wq_queue queue = WQ_NO_QUEUE;
    ASSERT_EQ(wq_store_open_queue(store, name.c_str(), nullptr, &queue, nullptr), WQ_OK);
    ASSERT_EQ(wq_queue_add(queue, "key", 3, nullptr, nullptr, nullptr), WQ_OK);
    ASSERT_EQ(wq_queue_close(queue, nullptr), WQ_OK);
    ASSERT_EQ(wq_store_delete_queue(store, name.c_str(), nullptr), WQ_OK);
  }
  EXPECT_LT(in_use(), before + (size_t{1} << 20));
  EXPECT_EQ(wq_store_free(store, nullptr), WQ_OK);
}

}  // namespace
}  // namespace wq::c
