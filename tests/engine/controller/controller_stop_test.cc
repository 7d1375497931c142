// Controller: every way to start and to end; a store that fails or is closed.

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/controller/controller_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ControllerStopTest : public ControllerTest {
 protected:
  // Adds "a" and starts a controller that reconciles it until its token is triggered. Returns when
  // that reconcile has begun.
  void StartAndHold(const Result& result) {
    StartAndCall([result](const ReconcileContext& context) {
      AwaitStop(context);
      return result;
    });
  }
  // Adds "a" and starts a controller whose reconciler may be called once. Returns when it was
  // called.
  void StartAndCall(const Reconciler& reconciler) {
    Add("a");
    const auto called = std::make_shared<std::promise<void>>();
    Start([called, reconciler](const ReconcileContext& context) {
      called->set_value();
      return reconciler(context);
    });
    called->get_future().wait();
  }
};

// --- Starting ---

TEST_F(ControllerStopTest, BadArgumentsAreRefusedAtStart) {
  const Reconciler nothing = [](const ReconcileContext&) { return Result(); };
  const struct {
    Queue* queue;
    Reconciler reconciler;
    ControllerOptions options;
    const char* message;
  } cases[] = {
      {nullptr, nothing, {}, "no queue"},
      {queue_, nullptr, {}, "no reconciler"},
      {queue_, nothing, {.max_concurrent_reconciles = 0}, "is 0"},
      {queue_, nothing, {.max_concurrent_reconciles = 70000}, "is above 65535"},
      {queue_, nothing, {.reconcile_timeout = microseconds(-1)}, "is negative"},
  };
  for (const auto& c : cases) {
    Controller controller(c.queue, c.reconciler, c.options);
    const Status s = controller.Start();
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr(c.message));
  }
  EXPECT_FALSE(queue_->IsShuttingDown());
}

TEST_F(ControllerStopTest, StartsOnce) {
  Start([](const ReconcileContext&) { return Result(); });
  EXPECT_EQ(controller_->Start().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(controller_->Stop(hours(1)).ok());
  EXPECT_EQ(controller_->Start().code(), StatusCode::kShuttingDown);
  EXPECT_TRUE(controller_->Stop(hours(1)).ok());  // Again.
  EXPECT_TRUE(controller_->Drain(hours(1)).ok());
}

TEST_F(ControllerStopTest, DoesNotStartOnAQueueThatIsShutDownOrAfterStop) {
  Controller stopped(queue_, [](const ReconcileContext&) { return Result(); });
  EXPECT_TRUE(stopped.Stop(hours(1)).ok());
  EXPECT_EQ(stopped.Start().code(), StatusCode::kShuttingDown);
  Controller late(queue_, [](const ReconcileContext&) { return Result(); });
  EXPECT_EQ(late.Start().code(), StatusCode::kShuttingDown);
}

// --- Drain ---

TEST_F(ControllerStopTest, ADrainProcessesWhatIsQueuedAndLeavesTheDelayed) {
  std::vector<std::string> seen;
  ASSERT_TRUE(queue_->AddAfter("later", seconds(1)).ok());
  for (const char* key : {"a", "b", "c"}) {
    Add(key);
  }
  Start([&](const ReconcileContext& context) -> Result {
    seen.push_back(context.key());
    return context.key() == "b" ? Status::IOError("fails") : Status::Ok();
  });
  DrainAndOpen();
  EXPECT_EQ(Counted(), "2 success, 1 error");
  EXPECT_THAT(seen, ElementsAre("a", "b", "c"));
  EXPECT_EQ(queue_->Counts().delayed, 2U);
}

TEST_F(ControllerStopTest, ADrainEndsAtItsDeadlineAndGoesOnUntilStop) {
  StartAndHold(Status::Ok());
  EXPECT_EQ(controller_->Drain(milliseconds(1)).code(), StatusCode::kTimedOut);
  EXPECT_EQ(Shown(controller_->Counters()), "1 active");  // The token was not triggered.
  EXPECT_TRUE(controller_->Stop(hours(1)).ok());
  EXPECT_EQ(Shown(controller_->Counters()), "1 success");
}

// --- Stop ---

TEST_F(ControllerStopTest, AnInterruptedReconcileCountsNoFailureAndComesFirst) {
  StartAndHold(Status::ShuttingDown("interrupted"));
  Add("b");
  EXPECT_TRUE(controller_->Stop(hours(1)).ok());
  EXPECT_EQ(Shown(controller_->Counters()), "1 error, 1 left");
  Reopen();
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(queue_->NumRequeues("a"), 0U);
}

TEST_F(ControllerStopTest, AStopEndsAfterItsGraceAndTheDestructorWaits) {
  std::promise<void> go_on;
  StartAndCall([&](const ReconcileContext&) {
    go_on.get_future().wait();  // Ignores its stop token.
    return Result();
  });
  const Status s = controller_->Stop(milliseconds(1));
  EXPECT_EQ(s.ToString(), "TimedOut: 1 reconciles and 1 workers did not end in time");
  go_on.set_value();
  controller_.reset();
  EXPECT_EQ(queue_->Counts().processing, 0U);  // Recorded.
}

TEST_F(ControllerStopTest, DrainFromAReconcilerOnlyBegins) {
  Status inside;
  std::promise<void> called;
  StartAndCall([&](const ReconcileContext&) {
    inside = controller_->Drain(hours(1));
    called.set_value();
    return Result();
  });
  called.get_future().wait();
  EXPECT_EQ(inside.code(), StatusCode::kShuttingDown);
  EXPECT_EQ(queue_->Add("b").code(), StatusCode::kShuttingDown);
  EXPECT_TRUE(controller_->Drain(hours(1)).ok());
}

TEST_F(ControllerStopTest, StopFromAStopCallbackOnlyBegins) {
  Add("a");
  Status inside;
  Start(
      [&](const ReconcileContext& context) -> Result {
        const std::stop_callback callback(context.stop_token(),
                                          [&] { inside = controller_->Stop(hours(1)); });
        AwaitStop(context);
        return {};
      },
      {.reconcile_timeout = milliseconds(1)});
  EXPECT_TRUE(support::Eventually([&] { return queue_->IsShuttingDown(); }));
  EXPECT_TRUE(controller_->Stop(hours(1)).ok());
  EXPECT_EQ(inside.code(), StatusCode::kShuttingDown);
  EXPECT_EQ(Shown(controller_->Counters()), "1 success, 1 timeouts");
}

TEST_F(ControllerStopTest, AfterShutDownFromAReconcilerTheRestIsProcessed) {
  Add("a");
  Add("b");
  std::promise<void> last;
  Start([&](const ReconcileContext& context) -> Result {
    queue_->ShutDown();  // Would release a drain that has begun.
    if (context.key() == "b") {
      last.set_value();
    }
    return {};
  });
  last.get_future().wait();
  DrainAndOpen();
  EXPECT_EQ(Counted(), "2 success");
}

// --- The store ---

TEST_F(ControllerStopTest, AKeyWhoseStoreIsClosedDuringTheReconcileIsLeft) {
  std::promise<void> closed;
  StartAndCall([&](const ReconcileContext& context) {
    closed.get_future().wait();
    return queue_->Forget(context.key());  // ShuttingDown.
  });
  ASSERT_TRUE(store_->Close().ok());
  closed.set_value();
  EXPECT_TRUE(controller_->Stop(hours(1)).ok());
  EXPECT_EQ(Shown(controller_->Counters()), "1 error, 1 left");
  EXPECT_TRUE(controller_->Health().ok());
  controller_.reset();
  Open();
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(queue_->NumRequeues("a"), 0U);
}

TEST_F(ControllerStopTest, WorkersGoOnWhenTheStoreFails) {
  Add("a");
  Add("b");
  FailWrites();
  Start([](const ReconcileContext&) { return Result::RequeueAfter(seconds(1)); });
  Drain();
  EXPECT_EQ(controller_->Health().code(), StatusCode::kNotDurable);
  EXPECT_EQ(controller_->Counters().requeue_after, 2U);
  EXPECT_GE(controller_->Counters().queue_errors, 1U);
  EXPECT_EQ(queue_->Counts().delayed, 2U);
}

}  // namespace
}  // namespace wq
