// Changes of a store's health, through the C interface: a disk that is full, and then is not.

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "tests/c/c_fixture.h"
#include "tests/support/environment.h"

namespace wq::c {
namespace {

struct Told {
  std::mutex mu;
  std::condition_variable told;
  wq_store store = WQ_NO_STORE;
  std::vector<wq_code> codes;
  std::vector<wq_code> mends;  // What wq_store_recover said inside.
  std::string message;         // Of the first one.
};

void Tell(void* arg, wq_code code, const char* message) {
  auto* const told = static_cast<Told*>(arg);
  const std::lock_guard lock(told->mu);
  told->codes.push_back(code);
  told->mends.push_back(wq_store_recover(told->store, nullptr));
  if (told->codes.size() == 1) {
    told->message = message;
  }
  told->told.notify_all();
}

// No file may grow beyond `bytes`.
void LimitFiles(rlim_t bytes) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(Health, FailureAndMendingAreTold) {
  const support::ScratchDirectory dir;
  ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  Told told;
  wq_error error{};
  wq_queue queue = WQ_NO_QUEUE;
  wq_store_options options{};
  options.size = sizeof options;
  options.create_if_missing = 1;
  options.recovery_backoff_min_ms = 3'600'000;  // Only when it is asked to.
  options.recovery_backoff_max_ms = 3'600'000;
  options.health = Tell;
  options.health_arg = &told;
  ASSERT_EQ(wq_store_open((dir / "store").c_str(), &options, &told.store, &error), WQ_OK);
  ASSERT_EQ(wq_store_open_queue(told.store, "q", nullptr, &queue, &error), WQ_OK) << error.message;

  LimitFiles(0);
  EXPECT_EQ(wq_queue_add(queue, "k", 1, nullptr, nullptr, &error), WQ_NOT_DURABLE);
  EXPECT_EQ(wq_store_health(told.store, &error), WQ_NOT_DURABLE);
  EXPECT_EQ(wq_store_recover(told.store, &error), WQ_NOT_DURABLE);
  LimitFiles(RLIM_INFINITY);
  EXPECT_EQ(wq_store_recover(told.store, &error), WQ_OK) << error.message;
  EXPECT_EQ(wq_store_health(told.store, &error), WQ_OK);
  {
    std::unique_lock lock(told.mu);
    told.told.wait(lock, [&told] { return told.codes.size() == 2; });
  }
  EXPECT_EQ(wq_store_free(told.store, &error), WQ_OK) << error.message;

  const std::lock_guard lock(told.mu);
  ASSERT_EQ(told.codes, (std::vector<wq_code>{WQ_NOT_DURABLE, WQ_OK}));
  EXPECT_EQ(told.mends, (std::vector<wq_code>{WQ_INVALID_ARGUMENT, WQ_INVALID_ARGUMENT}));
  EXPECT_NE(told.message, "");
}

}  // namespace
}  // namespace wq::c
