// The text that Prometheus reads: exact names, labels and buckets.

#include <memory>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/text_serializer.h>

#include "wq/clock.h"
#include "wq/controller_metrics.h"
#include "wq/prometheus.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(const PrometheusProvider& provider) { return PrometheusText(provider); }

// The lines of one metric.
std::string TextOf(const PrometheusProvider& provider, const std::string& name) {
  std::istringstream text(Text(provider));
  std::string lines;
  for (std::string line; std::getline(text, line);) {
    const size_t at = line.starts_with("# ") ? line.find(' ', 2) + 1 : 0;
    if (line.compare(at, name.size(), name) == 0) {
      lines += line + "\n";
    }
  }
  return lines;
}

class PrometheusTest : public ::testing::Test {
 protected:
  PrometheusTest() { Open("pods", {.order = Order::kTwoLanes}); }

  void Open(const std::string& name, const QueueOptions& options) {
    store_.reset();
    StoreOptions store_options;
    store_options.clock = &clock_;
    store_options.metrics = provider_;
    ASSERT_TRUE(Store::OpenInMemory(store_options, &store_).ok());
    ASSERT_TRUE(store_->OpenQueue(name, options, &queue_).ok());
  }

  ManualClock clock_;
  std::shared_ptr<PrometheusProvider> provider_ = MakePrometheusProvider();
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
};

TEST_F(PrometheusTest, TheSevenMetricsOfControllerRuntime) {
  ASSERT_TRUE(queue_->Add("a").ok());
  ASSERT_TRUE(queue_->Add("b").ok());
  ASSERT_TRUE(queue_->AddAfter("c", milliseconds(5), {.lane = kSlowLane}).ok());
  clock_.Advance(milliseconds(20));
  EXPECT_EQ(queue_->Len(), 3U);
  std::string key;
  ASSERT_TRUE(queue_->Get(&key).ok());
  ASSERT_TRUE(queue_->Get(&key).ok());
  clock_.Advance(milliseconds(2000));
  ASSERT_TRUE(queue_->Done(key).ok());

  EXPECT_EQ(TextOf(*provider_, "workqueue_depth"),
            "# HELP workqueue_depth Current depth of workqueue by workqueue and priority\n"
            "# TYPE workqueue_depth gauge\n"
            "workqueue_depth{controller=\"pods\",name=\"pods\",priority=\"-100\"} 1\n"
            "workqueue_depth{controller=\"pods\",name=\"pods\",priority=\"0\"} 0\n");
  EXPECT_EQ(TextOf(*provider_, "workqueue_adds_total"),
            "# HELP workqueue_adds_total Total number of adds handled by workqueue\n"
            "# TYPE workqueue_adds_total counter\n"
            "workqueue_adds_total{controller=\"pods\",name=\"pods\"} 3\n");
  EXPECT_EQ(TextOf(*provider_, "workqueue_retries_total"),
            "# HELP workqueue_retries_total Total number of retries handled by workqueue\n"
            "# TYPE workqueue_retries_total counter\n"
            "workqueue_retries_total{controller=\"pods\",name=\"pods\"} 1\n");
  EXPECT_THAT(
      TextOf(*provider_, "workqueue_unfinished_work_seconds"),
      HasSubstr("gauge\n"
                "workqueue_unfinished_work_seconds{controller=\"pods\",name=\"pods\"} 2\n"));
  EXPECT_THAT(TextOf(*provider_, "workqueue_longest_running_processor_seconds"),
              HasSubstr("gauge\nworkqueue_longest_running_processor_seconds{controller=\"pods\","
                        "name=\"pods\"} 2\n"));
  const std::string duration = "workqueue_queue_duration_seconds";
  const std::string bucket = duration + "_bucket{controller=\"pods\",name=\"pods\",le=\"";
  EXPECT_EQ(
      TextOf(*provider_, duration),
      "# HELP " + duration +
          " How long in seconds an item stays in workqueue before being requested\n"
          "# TYPE " +
          duration + " histogram\n" + duration + "_count{controller=\"pods\",name=\"pods\"} 2\n" +
          duration + "_sum{controller=\"pods\",name=\"pods\"} 0.04\n" +  //
          bucket + "1e-08\"} 0\n" + bucket + "1e-07\"} 0\n" + bucket + "1e-06\"} 0\n" + bucket +
          "1e-05\"} 0\n" + bucket + "0.0001\"} 0\n" + bucket + "0.001\"} 0\n" + bucket +
          "0.01\"} 0\n" + bucket + "0.1\"} 2\n" + bucket + "1\"} 2\n" + bucket + "10\"} 2\n" +
          bucket + "100\"} 2\n" + bucket + "1000\"} 2\n" + bucket + "+Inf\"} 2\n");
  EXPECT_THAT(TextOf(*provider_, "workqueue_work_duration_seconds"),
              HasSubstr("_sum{controller=\"pods\",name=\"pods\"} 2\n"));
}

// The number of series must not depend on the number of keys.
TEST_F(PrometheusTest, KeysAreNoLabels) {
  ASSERT_TRUE(queue_->Add("private-key").ok());
  ASSERT_TRUE(
      queue_->AddAfter("private-delayed", milliseconds(5), {.group = "private-group"}).ok());
  ASSERT_TRUE(queue_->AddRateLimited("private-failing").ok());
  std::string key;
  ASSERT_TRUE(queue_->Get(&key).ok());
  clock_.Advance(milliseconds(20));
  EXPECT_EQ(queue_->Len(), 2U);
  EXPECT_THAT(Text(*provider_), HasSubstr("pods"));
  EXPECT_THAT(Text(*provider_), Not(HasSubstr("private")));
}

TEST_F(PrometheusTest, OneLaneHasAnEmptyPriority) {
  Open("nodes", {});
  EXPECT_THAT(Text(*provider_),
              HasSubstr("workqueue_depth{controller=\"nodes\",name=\"nodes\",priority=\"\"} 0\n"));
}

TEST_F(PrometheusTest, MetricsOfWqAlone) {
  ASSERT_TRUE(queue_->Quarantine("a").ok());
  const std::string text = Text(*provider_);
  for (const char* line :
       {"wq_processing{name=\"pods\"} 0\n", "wq_delayed{name=\"pods\"} 0\n",
        "wq_failing{name=\"pods\"} 0\n", "wq_quarantined{name=\"pods\"} 1\n",
        "wq_paused{name=\"pods\"} 0\n", "wq_oldest_pending_age_seconds{name=\"pods\"} 0\n",
        "wq_store_healthy{store=\"\"} 1\n",
        "wq_commit_duration_seconds_bucket{store=\"\",le=\"1e-05\"} 0\n",
        "wq_commit_batch_mutations_bucket{store=\"\",le=\"262144\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(PrometheusTest, Controllers) {
  ControllerMetrics metrics(provider_, "pods", 4);
  metrics.OnBegin("a");
  Reconciled reconciled;
  reconciled.outcome = ReconcileOutcome::kRequeueAfter;
  reconciled.duration = milliseconds(20);
  metrics.OnEnd(reconciled);
  const std::string text = Text(*provider_);
  for (const char* line :
       {"controller_runtime_reconcile_total{controller=\"pods\",result=\"error\"} 0\n",
        "controller_runtime_reconcile_total{controller=\"pods\",result=\"requeue_after\"} 1\n",
        "controller_runtime_reconcile_errors_total{controller=\"pods\"} 0\n",
        "controller_runtime_terminal_reconcile_errors_total{controller=\"pods\"} 0\n",
        "controller_runtime_reconcile_panics_total{controller=\"pods\"} 0\n",
        "controller_runtime_reconcile_timeouts_total{controller=\"pods\"} 0\n",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"pods\",le=\"0.01\"} 0\n",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"pods\",le=\"0.025\"} 1\n",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"pods\",le=\"60\"} 1\n",
        "controller_runtime_max_concurrent_reconciles{controller=\"pods\"} 4\n",
        "controller_runtime_active_workers{controller=\"pods\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(PrometheusTest, GaugesEndWithTheStoreAndCountersStay) {
  ASSERT_TRUE(queue_->Add("a").ok());
  store_.reset();
  const std::string text = Text(*provider_);
  EXPECT_THAT(text, Not(HasSubstr("workqueue_depth")));
  EXPECT_THAT(text, Not(HasSubstr("wq_store_healthy")));
  EXPECT_THAT(text, HasSubstr("workqueue_adds_total{controller=\"pods\",name=\"pods\"} 1\n"));
}

// Prometheus drops a scrape that contains the same series twice.
TEST_F(PrometheusTest, QueuesOfOneNameAddUp) {
  std::unique_ptr<Store> other;
  StoreOptions options;
  options.clock = &clock_;
  options.metrics = provider_;
  ASSERT_TRUE(Store::OpenInMemory(options, &other).ok());
  Queue* queue = nullptr;
  ASSERT_TRUE(other->OpenQueue("pods", {.order = Order::kTwoLanes}, &queue).ok());
  ASSERT_TRUE(queue_->Add("a").ok());
  clock_.Advance(milliseconds(1000));
  ASSERT_TRUE(queue->Add("a").ok());
  clock_.Advance(milliseconds(1000));
  EXPECT_THAT(TextOf(*provider_, "workqueue_depth"), HasSubstr("priority=\"0\"} 2\n"));
  EXPECT_THAT(TextOf(*provider_, "workqueue_adds_total"), HasSubstr("} 2\n"));
  EXPECT_THAT(Text(*provider_), HasSubstr("wq_oldest_pending_age_seconds{name=\"pods\"} 2\n"));
}

TEST_F(PrometheusTest, ShowsOtherMetricsOfItsRegistry) {
  auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildCounter().Name("my_total").Register(*registry).Add({}).Increment(7);
  provider_ = MakePrometheusProvider(registry);
  Open("pods", {});
  EXPECT_THAT(Text(*provider_), HasSubstr("my_total 7\n"));
  EXPECT_THAT(Text(*provider_), HasSubstr("workqueue_depth"));
}

TEST_F(PrometheusTest, PushedSeriesOutliveTheProvider) {
  const auto registry = std::make_shared<prometheus::Registry>();
  provider_ = MakePrometheusProvider(registry);
  Open("pods", {});
  provider_.reset();  // The store still holds it.
  ASSERT_TRUE(queue_->Add("a").ok());
  store_.reset();
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, registry->Collect());
  EXPECT_THAT(out.str(), HasSubstr("workqueue_adds_total{controller=\"pods\",name=\"pods\"} 1\n"));
}

TEST_F(PrometheusTest, AnotherTypeInTheRegistryFailsACheck) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildGauge().Name("workqueue_adds_total").Register(*registry);
  provider_ = MakePrometheusProvider(registry);
  EXPECT_DEATH(Open("pods", {}), "exists");
}

}  // namespace
}  // namespace wq
