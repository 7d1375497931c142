// The callbacks of the C interface: when they are called, and which calls they may not make.

#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/c/c_fixture.h"

namespace wq::c {
namespace {

class CallbackTest : public CTest {
 protected:
  wq_queue_options options_ = Sized<wq_queue_options>();
};

TEST_F(CallbackTest, ACallWithItsOwnDelayCallsNoLimiter) {
  auto limiter = Sized<wq_limiter>();
  limiter.kind = WQ_LIMITER_ITEM_EXPONENTIAL;
  limiter.base_us = limiter.max_us = 3'600'000'000;
  options_.limiter = &limiter;
  OpenQueue(&options_);
  auto add = Sized<wq_add_options>();
  add.has_retry_delay = 1;
  add.retry_delay_us = -5;  // The same as no delay.
  EXPECT_EQ(wq_queue_add_rate_limited(queue_, "k", 1, "no", 2, &add, nullptr, &error_), WQ_OK);
  EXPECT_EQ(Get(), "k");
  uint64_t requeues = 0;
  EXPECT_EQ(wq_queue_num_requeues(queue_, "k", 1, &requeues, &error_), WQ_OK);
  EXPECT_EQ(requeues, 1u);
}

TEST_F(CallbackTest, AnExceptionOfACallbackDoesNotReachTheCaller) {
  const auto visit = [](void*, const wq_queued_key*) -> int32_t {
    throw std::runtime_error("from a callback");
  };
  OpenQueue();
  ASSERT_EQ(Add("k"), WQ_OK);
  EXPECT_EQ(wq_queue_list(queue_, 1, visit, nullptr, &error_), WQ_INTERNAL);
  EXPECT_STREQ(error_.message, "from a callback");
  EXPECT_EQ(Get(), "k");
}

TEST_F(CallbackTest, TheGroupOfAKeyIsCut) {
  options_.order = WQ_ORDER_FAIR;
  options_.group_of = [](void*, const char* key, size_t size, char* group, size_t capacity) {
    EXPECT_EQ(capacity, 1024u);
    std::memcpy(group, key, size);
    return key[0] == 'b' ? size_t{100'000} : size;
  };
  OpenQueue(&options_);
  ASSERT_EQ(Add("a"), WQ_OK);
  ASSERT_EQ(Add("b"), WQ_OK);
  std::vector<size_t> sizes;
  ASSERT_EQ(wq_queue_list(
                queue_, 10,
                [](void* arg, const wq_queued_key* key) {
                  static_cast<std::vector<size_t>*>(arg)->push_back(key->group_size);
                  return 1;
                },
                &sizes, &error_),
            WQ_OK);
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 1024}));
}

TEST_F(CallbackTest, ACallbackCannotCloseOrFree) {
  struct Arg {
    wq_store store;
    wq_code close = WQ_OK;
    wq_code free = WQ_OK;
  } arg{store_};
  const auto visit = [](void* a, const wq_queued_key*) {
    auto* const tried = static_cast<Arg*>(a);
    tried->close = wq_store_close(tried->store, nullptr);
    tried->free = wq_store_free(tried->store, nullptr);
    return 0;
  };
  OpenQueue();
  ASSERT_EQ(Add("a"), WQ_OK);
  ASSERT_EQ(wq_queue_list(queue_, 1, visit, &arg, &error_), WQ_OK);
  EXPECT_EQ(arg.close, WQ_INVALID_ARGUMENT);
  EXPECT_EQ(arg.free, WQ_INVALID_ARGUMENT);
  EXPECT_EQ(Get(), "a");
}

TEST_F(CallbackTest, ADescriptorIsReadableOnceAfterCallsThatFoundNoKey) {
  OpenQueue();
  int fd = -1;
  ASSERT_EQ(wq_queue_ready_fd(queue_, &fd, &error_), WQ_OK);
  const auto notifications = [fd] {  // Since the last reading.
    uint64_t count = 0;
    return ::read(fd, &count, sizeof count) < 0 ? 0 : count;
  };
  ASSERT_EQ(Add("a"), WQ_OK);
  EXPECT_EQ(notifications(), 0U);  // No call has requested one.
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(1), "TimedOut");  // A waiting call requests none.
  ASSERT_EQ(Add("b"), WQ_OK);
  EXPECT_EQ(notifications(), 0U);
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Get(), "TimedOut");
  EXPECT_EQ(Get(), "TimedOut");
  ASSERT_EQ(Add("c"), WQ_OK);
  ASSERT_EQ(Add("d"), WQ_OK);
  EXPECT_EQ(notifications(), 1U);
  EXPECT_EQ(Get(), "c");
  EXPECT_EQ(Get(), "d");
  EXPECT_EQ(Get(), "TimedOut");
  ASSERT_EQ(wq_queue_stop(queue_, &error_), WQ_OK);
  EXPECT_EQ(notifications(), 1U);
  ::close(fd);
}

}  // namespace
}  // namespace wq::c
