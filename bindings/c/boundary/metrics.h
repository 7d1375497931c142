// CallbackProvider: a MetricsProvider that passes counters and histograms to the callbacks of
// wq_metrics, and keeps the readings of gauges for wq_store_read_gauges. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "wq/c/options.h"
#include "wq/c/store.h"
#include "wq/metrics.h"
#include "wq/status.h"

namespace wq::c {

class CallbackProvider final : public MetricsProvider {
 public:
  // Null for null. InvalidArgument: a callback is missing.
  static Status Make(const wq_metrics* metrics, std::shared_ptr<CallbackProvider>* provider);
  explicit CallbackProvider(const wq_metrics& callbacks) : callbacks_(callbacks) {}

  std::shared_ptr<CounterMetric> Counter(const Metric& metric, const MetricLabels& labels) override;
  std::shared_ptr<HistogramMetric> Histogram(const Metric& metric,
                                             const MetricLabels& labels) override;
  uint64_t Register(MetricReading reading) override WQ_EXCLUDES(mu_);
  void Unregister(uint64_t id) override WQ_EXCLUDES(mu_);

  void ReadGauges(wq_visit_gauge visit, void* arg) WQ_EXCLUDES(mu_);

 private:
  void* Series(const Metric& metric, const MetricLabels& labels) const;

  const wq_metrics callbacks_;
  Mutex mu_;  // Held while the readings run, but not during `visit`.
  uint64_t next_id_ WQ_GUARDED_BY(mu_) = 1;
  std::map<uint64_t, MetricReading> readings_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq::c
