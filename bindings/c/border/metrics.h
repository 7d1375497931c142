// CallbackProvider: a MetricsProvider that gives counters and histograms to the callbacks of
// wq_metrics, and keeps the gauges' readings for wq_store_read_gauges. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "wq/c/options.h"
#include "wq/c/store.h"
#include "wq/metrics.h"
#include "wq/status.h"

namespace wq::c {

class CallbackProvider final : public MetricsProvider {
 public:
  // InvalidArgument: a callback is missing. Null, and Ok, for null.
  static Status Make(const wq_metrics* metrics, std::shared_ptr<CallbackProvider>* provider);
  explicit CallbackProvider(const wq_metrics& callbacks) : callbacks_(callbacks) {}

  std::shared_ptr<CounterMetric> Counter(const Metric& metric, const MetricLabels& labels) override;
  std::shared_ptr<HistogramMetric> Histogram(const Metric& metric,
                                             const MetricLabels& labels) override;
  uint64_t Register(MetricReading reading) override;
  void Unregister(uint64_t id) override;

  void ReadGauges(wq_visit_gauge visit, void* arg);

 private:
  void* Series(const Metric& metric, const MetricLabels& labels) const;

  const wq_metrics callbacks_;
  std::mutex mu_;         // Held while the readings run, not while the caller's visitor does.
  uint64_t next_id_ = 1;  // Under mu_.
  std::map<uint64_t, MetricReading> readings_;  // Under mu_.
};

}  // namespace wq::c
