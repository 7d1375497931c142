// Controller: what each result does to the key; exceptions, timeouts, the observer,
// metrics.

#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/controller/controller_fixture.h"
#include "tests/engine/queue/metrics_fixture.h"
#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"
#include "wq/controller_metrics.h"

namespace wq {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

// --- Results ---

// Of a key that has failed once. The limiter's next delay is two seconds.
TEST_F(ControllerTest, EachResultDoesWhatTheTableSays) {
  const Status bad = Status::InvalidArgument("bad spec");
  const struct {
    Result result;
    const char* counted;
    uint64_t failures;
    const char* then;
    TerminalErrorPolicy policy = TerminalErrorPolicy::kQuarantine;
  } cases[] = {
      {Status::Ok(), "1 success", 0, ""},
      {Status::IOError("no route"), "1 error", 2, "in 2 s"},
      {Result::Requeue(), "1 requeue", 2, "in 2 s"},
      {Result::RequeueAfter(seconds(7)), "1 requeue_after", 0, "in 7 s"},
      {Result::RequeueAfter(seconds(0)), "1 success", 0, ""},
      {Result::RequeueAfter(seconds(-1)), "1 success", 0, ""},
      {Result::TerminalError(bad), "1 error, 1 terminal", 1, "bad spec"},
      {Result::TerminalError(bad), "1 error, 1 terminal", 0, "", TerminalErrorPolicy::kDrop},
      {Result::TerminalError(Status::Ok()), "1 success", 0, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(&c - cases);
    ASSERT_TRUE(queue_->AddRateLimited("a").ok());
    ASSERT_TRUE(queue_->CancelDelay("a").ok());
    ReconcileOnce(c.result, {.terminal_errors = c.policy});
    EXPECT_EQ(Counted(), c.counted);
    EXPECT_EQ(queue_->NumRequeues("a"), c.failures);
    std::string then;
    static_cast<void>(queue_->Inspect("a", [&then](const KeyInfo& key) {
      EXPECT_FALSE(key.queued || key.processing);
      then = key.quarantined ? std::string(key.last_error)
             : key.delayed   ? "in " + std::to_string(key.delay_us / 1'000'000) + " s"
                             : "";
    }));
    EXPECT_EQ(then, c.then);
    static_cast<void>(queue_->Delete("a"));
  }
}

TEST_F(ControllerTest, AnExceptionIsAnErrorWithItsText) {
  queue_options_.max_requeues = 1;
  CloseAndOpen();
  Add("a");
  Add("b");
  ASSERT_TRUE(queue_->AddRateLimited("a").ok());
  ASSERT_TRUE(queue_->AddRateLimited("b").ok());
  Start([](const ReconcileContext& context) -> Result {
    if (context.key() == "a") {
      throw std::runtime_error("boom");
    }
    throw 7;
  });
  DrainAndOpen();
  EXPECT_EQ(Counted(), "2 error, 2 exceptions");
  ASSERT_EQ(queue_->Quarantined().size(), 2U);
  EXPECT_EQ(queue_->Quarantined()[0].last_error, "boom");
  EXPECT_EQ(queue_->Quarantined()[1].last_error, "unknown exception");
}

TEST_F(ControllerTest, TheReconcilerSeesHowOftenTheKeyFailedAlsoInEarlierLives) {
  std::vector<uint64_t> seen;
  for (int life = 0; life < 3; ++life) {
    Add("a");
    Start([&](const ReconcileContext& context) -> Result {
      seen.push_back(context.NumRequeues());
      return Status::IOError("");
    });
    DrainAndOpen();
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
}

TEST_F(ControllerTest, TheReconcilerMayAddItsOwnKeyAndSeesIt) {
  std::vector<bool> seen;
  std::promise<void> twice;
  Add("a");
  Start([&](const ReconcileContext& context) -> Result {
    seen.push_back(context.AddedAgain());
    if (seen.size() == 1) {
      EXPECT_TRUE(queue_->Add(context.key()).ok());
      EXPECT_TRUE(context.AddedAgain());
    } else {
      twice.set_value();
    }
    return {};
  });
  twice.get_future().wait();
  DrainAndOpen();
  EXPECT_THAT(seen, ElementsAre(false, false));
  EXPECT_EQ(Counted(), "2 success");
}

// --- Observing ---

TEST_F(ControllerTest, AnObserverIsNotifiedOfEachReconcile) {
  struct Observer final : ControllerObserver {
    void OnBegin(std::string_view key) noexcept override { reported += std::string(key) + "? "; }
    void OnEnd(const Reconciled& r) noexcept override {
      reported += std::string(r.key) + "=" + std::string(ReconcileOutcomeName(r.outcome)) + ":" +
                  std::string(r.error) + (r.terminal ? "!" : "") + " ";
      EXPECT_TRUE(r.trace == nullptr || r.trace->trace_parent.empty());
      positive = positive && r.duration.count() > 0;
    }
    std::string reported;
    bool positive = true;
  } observer;
  Add("a");
  Add("b");
  Start(
      [](const ReconcileContext& context) -> Result {
        EXPECT_EQ(context.trace_parent(), "");
        return context.key() == "a" ? Result::TerminalError(Status::IOError("bad")) : Result();
      },
      {.observer = &observer});
  Drain();
  EXPECT_EQ(observer.reported, "a? a=error:bad! b? b=success: ");
  EXPECT_TRUE(observer.positive);
}

// --- Timeouts ---

TEST_F(ControllerTest, ATimeoutTriggersTheStopTokenAndIsCounted) {
  Add("a");
  Add("b");
  Add("c");
  Start(
      [](const ReconcileContext& context) -> Result {
        if (context.key() != "b") {
          AwaitStop(context);  // Without the timeout it would never return.
        }
        return context.key() == "a" ? Status::TimedOut("too slow") : Status::Ok();
      },
      {.reconcile_timeout = milliseconds(1)});
  DrainAndOpen();
  EXPECT_EQ(counters_.success, 2U);
  EXPECT_EQ(counters_.error, 1U);
  EXPECT_GE(counters_.timeouts, 2U);  // Also of "b" if the machine is slow.
  EXPECT_EQ(queue_->NumRequeues("a"), 1U);
}

// --- Tracing ---

struct Tracer : ControllerObserver {
  void OnEnd(const Reconciled& reconciled) noexcept override {
    queue = reconciled.queue;
    const bool traced = reconciled.trace != nullptr;
    attempts.push_back(traced ? *reconciled.trace : AttemptTrace());
  }
  std::string queue;
  std::vector<AttemptTrace> attempts;
};

TEST_F(ControllerTest, EachAttemptHasATraceOfItsOwnAndTheCausesAsLinks) {
  const std::string first = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  ASSERT_TRUE(queue_->Add("a", {.reason = "created", .trace_parent = first}).ok());
  ASSERT_TRUE(queue_->Add("a", {.reason = "changed"}).ok());
  Tracer tracer;
  std::vector<std::string> own;
  std::latch twice(2);
  Start(
      [&](const ReconcileContext& context) -> Result {
        own.push_back(context.trace_parent());
        twice.count_down();
        return own.size() == 1 ? Result(Status::IOError("no route")) : Result();
      },
      {.observer = &tracer, .trace = true});
  EXPECT_TRUE(support::Eventually([&] { return queue_->Counts().delayed != 0; }));
  clock_.Advance(seconds(1));
  twice.wait();
  Drain();
  ASSERT_EQ(tracer.attempts.size(), 2U);
  EXPECT_EQ(tracer.queue, queue_->name());
  EXPECT_NE(own[0].substr(0, 36), own[1].substr(0, 36));  // Another trace.
  for (size_t i = 0; i < 2; ++i) {
    const AttemptTrace& attempt = tracer.attempts[i];
    EXPECT_EQ(attempt.trace_parent, own[i]);
    EXPECT_TRUE(CheckCause("", own[i]).ok()) << own[i];
    EXPECT_EQ(attempt.failures, i);
    EXPECT_GT(attempt.begun_at_us, 0);
    EXPECT_THAT(attempt.causes.list, ElementsAre(Cause{.reason = "created", .trace_parent = first},
                                                 Cause{.reason = "changed", .trace_parent = ""}));
  }
}

// --- ControllerMetrics: controller-runtime's names ---

using ::testing::IsEmpty;

class ControllerMetricsTest : public QueueTest {
 protected:
  void End(Reconciled reconciled, ReconcileOutcome outcome) {
    metrics_->OnBegin("key");
    EXPECT_EQ(Gauge("active_workers"), 1);
    reconciled.outcome = outcome;
    metrics_->OnEnd(reconciled);
    EXPECT_EQ(Gauge("active_workers"), 0);
  }
  double Gauge(const std::string& name) {
    return provider_->Scrape().at("controller_runtime_" + name + "{controller=c}");
  }
  uint64_t Count(const std::string& name) {
    return provider_->Count("controller_runtime_" + name + "{controller=c}");
  }
  uint64_t Total(const std::string& result) {
    return provider_->Count("controller_runtime_reconcile_total{controller=c,result=" + result +
                            "}");
  }
  std::vector<double> Times() {
    return provider_->Observed("controller_runtime_reconcile_time_seconds{controller=c}");
  }

  std::shared_ptr<FakeProvider> provider_ = std::make_shared<FakeProvider>();
  std::unique_ptr<ControllerMetrics> metrics_ =
      std::make_unique<ControllerMetrics>(provider_, "c", 3);
};

TEST_F(ControllerMetricsTest, CountsResultsAndWhatWasSpecialOfThem) {
  EXPECT_EQ(Gauge("max_concurrent_reconciles"), 3);
  for (const char* result : {"success", "error", "requeue", "requeue_after"}) {
    EXPECT_EQ(Total(result), 0U);  // The series are there from the start.
  }
  End({}, ReconcileOutcome::kRequeue);
  End({}, ReconcileOutcome::kRequeueAfter);
  End({}, ReconcileOutcome::kError);
  Reconciled special;
  special.terminal = true;
  End(special, ReconcileOutcome::kError);
  special = {};
  special.exception = true;
  End(special, ReconcileOutcome::kError);
  special = {};
  special.timed_out = true;
  special.duration = milliseconds(1500);
  End(special, ReconcileOutcome::kSuccess);
  EXPECT_EQ(Total("success"), 1U);
  EXPECT_EQ(Total("error"), 3U);
  EXPECT_EQ(Total("requeue"), 1U);
  EXPECT_EQ(Total("requeue_after"), 1U);
  EXPECT_EQ(Count("reconcile_errors_total"), 3U);
  EXPECT_EQ(Count("terminal_reconcile_errors_total"), 1U);
  EXPECT_EQ(Count("reconcile_panics_total"), 1U);
  EXPECT_EQ(Count("reconcile_timeouts_total"), 1U);
  EXPECT_EQ(Times().size(), 6U);
  EXPECT_DOUBLE_EQ(Times().back(), 1.5);
  metrics_.reset();
  EXPECT_THAT(provider_->Scrape(), IsEmpty());
}

}  // namespace
}  // namespace wq
