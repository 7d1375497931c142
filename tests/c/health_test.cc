// Changes of a store's health in the C interface: a disk that is full, then has space again.

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

struct Reports {
  std::mutex mu;
  std::condition_variable changed;
  wq_store store = WQ_NO_STORE;
  std::vector<wq_code> codes;
  std::vector<wq_code> recover_codes;  // Of wq_store_recover in the callback.
  std::string message;                 // Of the first report.
};

void OnHealth(void* arg, wq_code code, const char* message) {
  auto* const reports = static_cast<Reports*>(arg);
  const std::lock_guard lock(reports->mu);
  reports->codes.push_back(code);
  reports->recover_codes.push_back(wq_store_recover(reports->store, nullptr));
  if (reports->codes.size() == 1) {
    reports->message = message;
  }
  reports->changed.notify_all();
}

// No file may grow beyond `bytes`.
void LimitFiles(rlim_t bytes) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(Health, FailureAndRecoveryAreReported) {
  const support::ScratchDirectory dir;
  ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  Reports reports;
  wq_error error{};
  wq_queue queue = WQ_NO_QUEUE;
  wq_store_options options{};
  options.size = sizeof options;
  options.create_if_missing = 1;
  options.no_process_log = 1;                   // So an Add waits for its write, which fails.
  options.recovery_backoff_min_ms = 3'600'000;  // Only wq_store_recover makes an attempt.
  options.recovery_backoff_max_ms = 3'600'000;
  options.health = OnHealth;
  options.health_arg = &reports;
  ASSERT_EQ(wq_store_open((dir / "store").c_str(), &options, &reports.store, &error), WQ_OK);
  ASSERT_EQ(wq_store_open_queue(reports.store, "q", nullptr, &queue, &error), WQ_OK)
      << error.message;

  LimitFiles(0);
  EXPECT_EQ(wq_queue_add(queue, "k", 1, nullptr, nullptr, &error), WQ_NOT_DURABLE);
  EXPECT_EQ(wq_store_health(reports.store, &error), WQ_NOT_DURABLE);
  EXPECT_EQ(wq_store_recover(reports.store, &error), WQ_NOT_DURABLE);
  LimitFiles(RLIM_INFINITY);
  EXPECT_EQ(wq_store_recover(reports.store, &error), WQ_OK) << error.message;
  EXPECT_EQ(wq_store_health(reports.store, &error), WQ_OK);
  {
    std::unique_lock lock(reports.mu);
    reports.changed.wait(lock, [&reports] { return reports.codes.size() == 2; });
  }
  EXPECT_EQ(wq_store_free(reports.store, &error), WQ_OK) << error.message;

  const std::lock_guard lock(reports.mu);
  ASSERT_EQ(reports.codes, (std::vector<wq_code>{WQ_NOT_DURABLE, WQ_OK}));
  EXPECT_EQ(reports.recover_codes,
            (std::vector<wq_code>{WQ_INVALID_ARGUMENT, WQ_INVALID_ARGUMENT}));
  EXPECT_NE(reports.message, "");
}

}  // namespace
}  // namespace wq::c
