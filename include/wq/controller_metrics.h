// ControllerMetrics: what a controller does, under the names that controller-runtime has for it.
//
//   wq::ControllerMetrics metrics(provider, "pods", options.max_concurrent_reconciles);
//   options.observer = &metrics;
//   wq::Controller controller(queue, reconciler, options);
//
// The names are in docs/metrics.md. Threading: thread-safe. Lifetime: must outlive the controller;
// the provider may outlive both.
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
  // `controller` is the value of the label of this name. REQUIRES: provider is not null.
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
