#include "wq/controller_metrics.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "engine/metrics/metrics.h"

namespace wq {
namespace {

// The buckets of controller-runtime.
constexpr double kReconcileBounds[] = {
    0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3,  0.35, 0.4,  0.45, 0.5, 0.6,
    0.7,   0.8,  0.9,   1.0,  1.25, 1.5,  1.75, 2.0,  2.5,  3.0,  3.5,  4.0,  4.5, 5.0,
    6.0,   7.0,  8.0,   9.0,  10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0};

constexpr Metric kTotal = CounterOf("controller_runtime_reconcile_total",
                                    "Total number of reconciliations per controller");
constexpr Metric kErrors = CounterOf("controller_runtime_reconcile_errors_total",
                                     "Total number of reconciliation errors per controller");
constexpr Metric kTerminalErrors =
    CounterOf("controller_runtime_terminal_reconcile_errors_total",
              "Total number of terminal reconciliation errors per controller");
constexpr Metric kPanics = CounterOf("controller_runtime_reconcile_panics_total",
                                     "Total number of reconciliation panics per controller");
constexpr Metric kTimeouts = CounterOf("controller_runtime_reconcile_timeouts_total",
                                       "Total number of reconciliation timeouts per controller");
constexpr Metric kTime =
    HistogramOf("controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller", kReconcileBounds);
constexpr Metric kMaxConcurrent = GaugeOf("controller_runtime_max_concurrent_reconciles",
                                          "Maximum number of concurrent reconciles per controller");
constexpr Metric kActive =
    GaugeOf("controller_runtime_active_workers", "Number of currently used workers per controller");

}  // namespace

ControllerMetrics::ControllerMetrics(std::shared_ptr<MetricsProvider> provider,
                                     const std::string& controller,
                                     uint32_t max_concurrent_reconciles) {
  WQ_CHECK(provider != nullptr, "metrics of a controller without a provider");
  const MetricLabels labels{{"controller", controller}};
  for (size_t i = 0; i < total_.size(); ++i) {
    const std::string result(ReconcileOutcomeName(static_cast<ReconcileOutcome>(i)));
    total_[i] = provider->Counter(kTotal, {{"controller", controller}, {"result", result}});
  }
  errors_ = provider->Counter(kErrors, labels);
  terminal_errors_ = provider->Counter(kTerminalErrors, labels);
  panics_ = provider->Counter(kPanics, labels);
  timeouts_ = provider->Counter(kTimeouts, labels);
  time_ = provider->Histogram(kTime, labels);
  shown_ = MetricRegistration(
      std::move(provider), [this, labels, max_concurrent_reconciles](const MetricSink& sink) {
        sink(kMaxConcurrent, labels, static_cast<double>(max_concurrent_reconciles));
        sink(kActive, labels, static_cast<double>(active_.load(std::memory_order_relaxed)));
      });
}

void ControllerMetrics::OnBegin(std::string_view /*key*/) noexcept {
  active_.fetch_add(1, std::memory_order_relaxed);
}

void ControllerMetrics::OnEnd(const Reconciled& reconciled) noexcept {
  active_.fetch_sub(1, std::memory_order_relaxed);
  total_[static_cast<size_t>(reconciled.outcome)]->Add(1);
  if (reconciled.outcome == ReconcileOutcome::kError) {
    errors_->Add(1);
  }
  if (reconciled.terminal) {
    terminal_errors_->Add(1);
  }
  if (reconciled.exception) {
    panics_->Add(1);
  }
  if (reconciled.timed_out) {
    timeouts_->Add(1);
  }
  time_->Observe(std::chrono::duration<double>(reconciled.duration).count());
}

}  // namespace wq
