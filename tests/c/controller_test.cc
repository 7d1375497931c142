// Controllers of the C interface: misuse, and their end.

#include <atomic>
#include <string>
#include <thread>

#include "tests/c/c_fixture.h"
#include "tests/support/wait.h"

namespace wq::c {
namespace {

// A reconciler that reports that it waits, and waits until it should stop.
struct Waiting {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  wq_store store = WQ_NO_STORE;
  wq_controller controller = WQ_NO_CONTROLLER;
  std::atomic<wq_code> free_inside{WQ_OK};
  std::atomic<wq_code> free_store_inside{WQ_OK};
};

void Wait(void* arg, const wq_reconcile* call, wq_reconcile_result* result) {
  auto* const waiting = static_cast<Waiting*>(arg);
  ++waiting->begun;
  waiting->begun.notify_all();
  EXPECT_TRUE(support::Eventually([&] { return wq_reconcile_stopping(call) != 0; }));
  waiting->free_inside = wq_controller_free(waiting->controller, nullptr);
  waiting->free_store_inside = wq_store_free(waiting->store, nullptr);
  result->kind = WQ_RECONCILE_INTERRUPTED;
  ++waiting->ended;
}

class ControllerCTest : public CTest {
 protected:
  ControllerCTest() {
    options_.size = sizeof options_;
    options_.reconcile = Wait;
    options_.arg = &waiting_;
    options_.workers = 2;
  }
  void Start() {
    OpenQueue();
    ASSERT_EQ(wq_controller_start(queue_, &options_, &waiting_.controller, &error_), WQ_OK)
        << error_.message;
    waiting_.store = store_;
    ASSERT_EQ(Add("a"), WQ_OK);
    waiting_.begun.wait(0);
  }

  Waiting waiting_;
  wq_controller_options options_{};
};

TEST_F(ControllerCTest, BadArgumentsAreRefused) {
  OpenQueue();
  wq_controller controller = WQ_NO_CONTROLLER;
  EXPECT_EQ(wq_controller_start(queue_, nullptr, &controller, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_controller_start(queue_, &options_, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_controller_start({store_.handle}, &options_, &controller, &error_), WQ_BAD_HANDLE);
  options_.reconcile = nullptr;
  EXPECT_EQ(wq_controller_start(queue_, &options_, &controller, &error_), WQ_INVALID_ARGUMENT);
  options_.reconcile = Wait;
  options_.workers = 1'000'000;
  EXPECT_EQ(wq_controller_start(queue_, &options_, &controller, &error_), WQ_INVALID_ARGUMENT);
  options_.size = 3;
  EXPECT_EQ(wq_controller_start(queue_, &options_, &controller, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(controller.handle, 0U);
  EXPECT_EQ(wq_controller_stop(controller, 0, &error_), WQ_BAD_HANDLE);
  EXPECT_EQ(wq_controller_counts({queue_.handle}, nullptr, &error_), WQ_BAD_HANDLE);
}

TEST_F(ControllerCTest, StopInterruptsAndLeavesTheKey) {
  Start();
  EXPECT_EQ(wq_controller_counts(waiting_.controller, nullptr, &error_), WQ_INVALID_ARGUMENT);
  ASSERT_EQ(wq_controller_stop(waiting_.controller, WQ_FOREVER, &error_), WQ_OK) << error_.message;
  wq_reconcile_counts counts{};
  counts.size = sizeof counts;
  ASSERT_EQ(wq_controller_counts(waiting_.controller, &counts, &error_), WQ_OK);
  EXPECT_EQ(counts.left, 1U);
  EXPECT_EQ(waiting_.free_inside, WQ_INVALID_ARGUMENT);
  EXPECT_EQ(waiting_.free_store_inside, WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_controller_free(waiting_.controller, &error_), WQ_OK);
  EXPECT_EQ(wq_controller_health(waiting_.controller, &error_), WQ_BAD_HANDLE);
}

TEST_F(ControllerCTest, FreeEndsADrainAndWaitsForReconciles) {
  Start();
  wq_code drained = WQ_OK;
  std::thread drain(
      [&] { drained = wq_controller_drain(waiting_.controller, WQ_FOREVER, nullptr); });
  int32_t shutting_down = 0;
  while (shutting_down == 0) {
    ASSERT_EQ(wq_queue_is_shutting_down(queue_, &shutting_down, &error_), WQ_OK);
  }
  EXPECT_EQ(wq_controller_free(waiting_.controller, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(waiting_.ended, 1);
  drain.join();
  EXPECT_TRUE(drained == WQ_SHUTTING_DOWN || drained == WQ_BAD_HANDLE) << drained;
}

TEST_F(ControllerCTest, FreeingTheStoreEndsItsControllers) {
  Start();
  ASSERT_EQ(wq_store_free(store_, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(waiting_.ended, 1);
  EXPECT_EQ(wq_controller_stop(waiting_.controller, 0, &error_), WQ_BAD_HANDLE);
}

}  // namespace
}  // namespace wq::c
