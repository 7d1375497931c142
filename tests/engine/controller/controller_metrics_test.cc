// ControllerMetrics: counts what a ControllerObserver is notified of, under controller-runtime's
// names.

#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/metrics_fixture.h"
#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"
#include "wq/controller_metrics.h"

namespace wq {
namespace {

using std::chrono::milliseconds;
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

TEST_F(ControllerMetricsTest, ObservesAController) {
  Controller controller(queue_,
                        [](const ReconcileContext&) -> Result { return Status::IOError("no"); },
                        {.observer = metrics_.get()});
  ASSERT_TRUE(controller.Start().ok());
  Add("a");
  ASSERT_TRUE(controller.Drain(support::kPatience).ok());
  EXPECT_EQ(Total("error"), 1U);
  EXPECT_EQ(Times().size(), 1U);
}

}  // namespace
}  // namespace wq
