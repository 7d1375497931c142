// TextMetrics: a MetricsProvider that adds counters and histograms up, and writes all metrics as
// text. It stands beside that of wq/prometheus.h because libwq does not link prometheus-cpp.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "wq/metrics.h"

namespace wq::c {

class SummedCounter;
class SummedHistogram;

class TextMetrics final : public MetricsProvider {
 public:
  std::shared_ptr<CounterMetric> Counter(const Metric& metric, const MetricLabels& labels) override
      WQ_EXCLUDES(mu_);
  std::shared_ptr<HistogramMetric> Histogram(const Metric& metric,
                                             const MetricLabels& labels) override WQ_EXCLUDES(mu_);
  uint64_t Register(MetricReading reading) override WQ_EXCLUDES(readings_mu_);
  void Unregister(uint64_t id) override WQ_EXCLUDES(readings_mu_);

  // All metrics, in the format that a Prometheus server reads (version 0.0.4), sorted by name.
  std::string Text() WQ_EXCLUDES(mu_, readings_mu_);

 private:
  // The series of one metric, which are all counters or all histograms.
  struct Family {
    Metric metric;
    std::map<MetricLabels, std::shared_ptr<SummedCounter>> counters;
    std::map<MetricLabels, std::shared_ptr<SummedHistogram>> histograms;
  };
  Family& FamilyOf(const Metric& metric) WQ_REQUIRES(mu_);

  Mutex mu_;
  std::map<std::string_view, Family> families_ WQ_GUARDED_BY(mu_);  // By name.

  Mutex readings_mu_;  // Held during the readings, so that Unregister waits for them.
  uint64_t last_id_ WQ_GUARDED_BY(readings_mu_) = 0;
  std::map<uint64_t, MetricReading> readings_ WQ_GUARDED_BY(readings_mu_);
};

}  // namespace wq::c
