// MetricsProvider: where the metrics of a store go; an interface to whatever collects them.
//
//   wq::StoreOptions options;
//   options.metrics = wq::MakePrometheusProvider(registry);  // wq/prometheus.h
//
// What there is, with names, labels and meaning, is in docs/metrics.md. Counters and histograms are
// pushed when something happens. Gauges are pulled: whoever collects calls a reading, and gets the
// queue's state of that moment. So no gauge can drift or go below zero.
//
// Nothing here is called while a queue or the journal is locked, so a provider may call the queues.
// It must not open or close the store, or list its queues. No label is ever a key: the number of
// series depends on the number of queues alone.
// Threading: a provider is called by many threads at once. Lifetime: shared; several stores may
// have the same one, and it may outlive them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wq {

enum class MetricKind : uint8_t { kCounter, kGauge, kHistogram };

// What all series of one metric have in common. Constants: they live as long as the process.
struct Metric {
  MetricKind kind = MetricKind::kGauge;
  std::string_view name;
  std::string_view help;
  // Histograms: upper bounds of the buckets, ascending; a last one without bound is implied.
  std::span<const double> bounds = {};
  // Pulled: when two readings give the same series (two stores with a queue of the same name), the
  // largest value counts. Otherwise they add up.
  bool largest = false;
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// A series that is pushed to. Thread-safe.
class CounterMetric {
 public:
  virtual ~CounterMetric() = default;
  virtual void Add(uint64_t count) = 0;
};

class HistogramMetric {
 public:
  virtual ~HistogramMetric() = default;
  virtual void Observe(double value) = 0;
};

// Takes the values of one reading, one call a series.
using MetricSink = std::function<void(const Metric&, const MetricLabels&, double value)>;
using MetricReading = std::function<void(const MetricSink&)>;

class MetricsProvider {
 public:
  virtual ~MetricsProvider() = default;

  // The series with these labels; the same one for equal labels. Never null.
  virtual std::shared_ptr<CounterMetric> Counter(const Metric& metric,
                                                 const MetricLabels& labels) = 0;
  virtual std::shared_ptr<HistogramMetric> Histogram(const Metric& metric,
                                                     const MetricLabels& labels) = 0;

  // `reading` is called whenever somebody collects, until Unregister. Returns its id, never 0.
  virtual uint64_t Register(MetricReading reading) = 0;
  // Blocks: until a call of the reading that is under way has returned. Unknown ids are ignored.
  virtual void Unregister(uint64_t id) = 0;
};

// Holds a reading registered; move-only. Unregisters at its end.
class MetricRegistration {
 public:
  MetricRegistration() = default;
  MetricRegistration(std::shared_ptr<MetricsProvider> provider, MetricReading reading);
  MetricRegistration(MetricRegistration&& other) noexcept;
  MetricRegistration& operator=(MetricRegistration&& other) noexcept;
  ~MetricRegistration();

  void Reset();  // Unregisters. Blocks: see MetricsProvider::Unregister.

 private:
  std::shared_ptr<MetricsProvider> provider_;
  uint64_t id_ = 0;
};

}  // namespace wq
