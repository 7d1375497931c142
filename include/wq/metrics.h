// MetricsProvider: receives the metrics of a store; an interface to a metrics library.
//
//   wq::StoreOptions options;
//   options.metrics = wq::MakePrometheusProvider(registry);  // wq/prometheus.h
//
// docs/metrics.md lists the metrics with their names, labels and meaning. Counters and histograms
// are pushed when an event happens. Gauges, and the counters of sources, are pulled: a collector
// calls a reading, and gets the queue's state of that instant. So no gauge can drift or fall below
// zero.
//
// Nothing here is called while a queue or the journal is locked, so a provider may call the queues.
// It must not open or close the store, or list its queues. No label is ever a key: the number of
// series depends on the numbers of queues, lanes and sources alone.
// Threading: thread-safe; a provider is called by many threads at once. Lifetime: shared; several
// stores may have the same provider, and it may outlive them. A crash: counters and histograms
// start at 0 again.
#pragma once

#include "wq/cxx20.h"

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

// The properties that all series of a metric share. Constants, valid as long as the process.
struct Metric {
  MetricKind kind = MetricKind::kGauge;
  std::string_view name;
  std::string_view help;
  // Histograms: upper bounds of the buckets, ascending; a last bucket without a bound is implied.
  std::span<const double> bounds = {};
  // Gauges: when two readings return the same series (two stores with a queue of the same name),
  // the largest value counts. When off, their values add up.
  bool largest = false;
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// A pushed series. Thread-safe.
class CounterMetric {
 public:
  virtual ~CounterMetric();
  virtual void Add(uint64_t count) = 0;
};

class HistogramMetric {
 public:
  virtual ~HistogramMetric();
  virtual void Observe(double value) = 0;
};

// Takes the values of one reading, one call a series.
using MetricSink = std::function<void(const Metric&, const MetricLabels&, double value)>;
using MetricReading = std::function<void(const MetricSink&)>;

class MetricsProvider {
 public:
  virtual ~MetricsProvider();

  // Returns the series with these labels; the same series for equal labels. Never null.
  virtual std::shared_ptr<CounterMetric> Counter(const Metric& metric,
                                                 const MetricLabels& labels) = 0;
  virtual std::shared_ptr<HistogramMetric> Histogram(const Metric& metric,
                                                     const MetricLabels& labels) = 0;

  // Registers `reading`, which each collection calls until Unregister. Returns its id, never 0.
  virtual uint64_t Register(MetricReading reading) = 0;
  // Removes the reading. Unknown ids are ignored. Blocks: until a running call of it has returned.
  virtual void Unregister(uint64_t id) = 0;
};

// Keeps a reading registered until its destruction; move-only.
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
