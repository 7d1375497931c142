// ControllerTest: a queue with a controller on it. Delays run on the manual clock, timeouts on the
// real one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "wq/controller.h"

namespace wq {

class ControllerTest : public QueueTest {
 protected:
  ControllerTest() {
    queue_options_.limiter = std::make_shared<ItemExponentialFailure>(std::chrono::seconds(1),
                                                                      std::chrono::seconds(100));
    CloseAndOpen();
  }

  void Start(Reconciler reconciler, const ControllerOptions& options = {}) {
    controller_ = std::make_unique<Controller>(queue_, std::move(reconciler), options);
    const Status s = controller_->Start();
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  void Drain() {
    const Status s = controller_->Drain(std::chrono::hours(1));
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // Adds "a", reconciles it once with this result, and reopens the queue.
  void ReconcileOnce(const Result& result, const ControllerOptions& options = {}) {
    Add("a");
    Start([&](const ReconcileContext&) { return result; }, options);
    DrainAndOpen();
  }
  void DrainAndOpen() {
    Drain();
    counters_ = controller_->Counters();
    EXPECT_TRUE(controller_->Health().ok());
    Reopen();
  }
  void Reopen() {
    controller_.reset();
    CloseAndOpen();
  }
  // The counters that are not zero: "1 success, 1 timeouts".
  std::string Counted() const { return Shown(counters_); }
  static std::string Shown(const ControllerCounters& c) {
    const std::pair<uint64_t, const char*> all[] = {
        {c.success, "success"},           {c.error, "error"},
        {c.requeue, "requeue"},           {c.requeue_after, "requeue_after"},
        {c.terminal_errors, "terminal"},  {c.exceptions, "exceptions"},
        {c.timeouts, "timeouts"},         {c.left, "left"},
        {c.queue_errors, "queue_errors"}, {c.active_workers, "active"}};
    std::string shown;
    for (const auto& [count, name] : all) {
      if (count > 0) {
        shown += (shown.empty() ? "" : ", ") + std::to_string(count) + " " + name;
      }
    }
    return shown;
  }
  // Blocks the reconcile that calls it until its token is triggered.
  static void AwaitStop(const ReconcileContext& context) {
    std::mutex mu;
    std::condition_variable_any cv;
    std::unique_lock lock(mu);
    cv.wait(lock, context.stop_token(), [] { return false; });
  }

  std::unique_ptr<Controller> controller_;
  ControllerCounters counters_;
};

}  // namespace wq
