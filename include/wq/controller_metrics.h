// ControllerMetrics: the metrics of a controller, under controller-runtime's names.
//
//   wq::ControllerMetrics metrics(provider, "pods", options.max_concurrent_reconciles);
//   options.observer = &metrics;
//   wq::Controller controller(queue, reconciler, options);
//
// docs/metrics.md lists the names.
// Threading: thread-safe. Lifetime: must outlive the controller; the provider may outlive both.
// A crash: the metrics start at 0 again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wq/controller.h"
#include "wq/metrics.h"

namespace wq {

class ControllerMetrics final : public ControllerObserver {
 public:
  // `controller` is the value of the label `controller`. REQUIRES: provider is not null.
  ControllerMetrics(std::shared_ptr<MetricsProvider> provider, const std::string& controller,
                    uint32_t max_concurrent_reconciles);

  void OnBegin(std::string_view key) noexcept override;
  void OnEnd(const Reconciled& reconciled) noexcept override;

 private:
  std::array<std::shared_ptr<CounterMetric>, 4> total_;  // By ReconcileOutcome.
  std::shared_ptr<CounterMetric> errors_;
  std::shared_ptr<CounterMetric> terminal_errors_;
  std::shared_ptr<CounterMetric> panics_;
  std::shared_ptr<CounterMetric> timeouts_;
  std::shared_ptr<HistogramMetric> time_;
  std::atomic<int64_t> active_{0};  // Between OnBegin and OnEnd.
  MetricRegistration shown_;        // Last: a reading uses the above.
};

}  // namespace wq
