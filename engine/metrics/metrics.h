// QueueMetrics, StoreMetrics: the metrics that a queue and a store report to a MetricsProvider.
//
// Names, labels and meanings are in docs/metrics.md. Counting and observing are done outside the
// locks of queues and the journal. Thread-safe, unless stated otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "wq/metrics.h"
#include "wq/options.h"
#include "wq/queue.h"
#include "wq/source.h"

namespace wq {

// Metrics, short to write.
constexpr Metric GaugeOf(std::string_view name, std::string_view help) {
  return {.kind = MetricKind::kGauge, .name = name, .help = help};
}
constexpr Metric LargestOf(std::string_view name, std::string_view help) {
  return {.kind = MetricKind::kGauge, .name = name, .help = help, .largest = true};
}
constexpr Metric CounterOf(std::string_view name, std::string_view help) {
  return {.kind = MetricKind::kCounter, .name = name, .help = help};
}
constexpr Metric HistogramOf(std::string_view name, std::string_view help,
                             std::span<const double> bounds) {
  return {.kind = MetricKind::kHistogram, .name = name, .help = help, .bounds = bounds};
}

// Since when each processing key has been processing, in steady time. Used only with a provider, so
// that an Item has no field for it. Thread-compatible: guarded by its queue's lock.
class ProcessingTimes {
 public:
  void Begin(std::string_view key, int64_t now_us) { begun_us_.insert_or_assign(key, now_us); }
  // From now on, if Begin was called for it.
  void Restart(std::string_view key, int64_t now_us);
  // How long `key` was processing. REQUIRES: Begin was called for it.
  int64_t End(std::string_view key, int64_t now_us);

  int64_t SumUs(int64_t now_us) const;      // Of all keys.
  int64_t LongestUs(int64_t now_us) const;  // 0: no key is processing.

 private:
  // Abseil's own hash of strings takes only Abseil's string_view.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  absl::flat_hash_map<std::string, int64_t, Hash, std::equal_to<>> begun_us_;
};

// The gauges of a queue at one point in time.
struct QueueReading {
  QueueCounts counts;
  int64_t unfinished_us = 0;
  int64_t longest_us = 0;
  int64_t oldest_us = 0;  // 0: nothing is queued.
  std::vector<SourceInfo> sources = {};
};

class QueueMetrics {
 public:
  // Null if `provider` is null.
  static std::unique_ptr<QueueMetrics> Make(const std::shared_ptr<MetricsProvider>& provider,
                                            const std::string& queue, const QueueOptions& options);
  QueueMetrics(std::shared_ptr<MetricsProvider> provider, const std::string& queue,
               const QueueOptions& options);

  void CountAdds(uint64_t adds) { adds_->Add(adds); }
  void CountRetry() { retries_->Add(1); }
  void CountFull(uint64_t adds) { full_->Add(adds); }
  void CountHeldAdds(uint64_t adds) { held_adds_->Add(adds); }
  void ObserveLimiterDelay(int64_t us);
  void ObserveQueued(int64_t us);
  void ObserveWorked(int64_t us);

  // From Show to Hide, the gauges are what `read` returns. Neither is thread-safe.
  void Show(std::function<QueueReading()> read);
  void Hide() { shown_.Reset(); }

 private:
  void Emit(const QueueReading& reading, const MetricSink& sink) WQ_EXCLUDES(mu_);
  void EmitSource(const SourceInfo& source, const MetricSink& sink) const;
  void EmitDepth(const QueueCounts& counts, const MetricSink& sink) WQ_EXCLUDES(mu_);

  const std::shared_ptr<MetricsProvider> provider_;
  const MetricLabels name_;             // Of wq_*.
  const MetricLabels name_controller_;  // Of workqueue_*.
  const bool one_lane_;
  const std::shared_ptr<CounterMetric> adds_;
  const std::shared_ptr<CounterMetric> retries_;
  const std::shared_ptr<HistogramMetric> queued_;
  const std::shared_ptr<HistogramMetric> worked_;
  const std::shared_ptr<CounterMetric> full_;
  const std::shared_ptr<CounterMetric> held_adds_;
  const std::shared_ptr<HistogramMetric> limiter_delay_;

  // A provider may hold a lock of its own during a reading, which takes mu_. So it is not called
  // under mu_.
  Mutex mu_;
  // The lanes that have their own series, at most kMaxPriorities - 1. A lane is never removed.
  std::set<Lane> lanes_ WQ_GUARDED_BY(mu_);

  MetricRegistration shown_;  // Last: a reading uses all of the above.
};

// What the metrics of a replica are computed from.
struct ReplicaReading {
  bool owner = false;
  uint64_t epoch = 0;
  uint64_t applied = 0;
  bool log_reachable = false;
  double seconds_behind = 0;  // Since it last had all of the log, as far as it knows.
};

// The gauges of a replicated store's replica, whether it owns the store or not.
class ReplicaMetrics {
 public:
  static std::unique_ptr<ReplicaMetrics> Make(const std::shared_ptr<MetricsProvider>& provider,
                                              const std::string& dir,
                                              std::function<ReplicaReading()> read);
  ReplicaMetrics(const std::shared_ptr<MetricsProvider>& provider, const std::string& dir,
                 std::function<ReplicaReading()> read);

 private:
  const MetricLabels store_;
  MetricRegistration shown_;  // Last: a reading uses all of the above.
};

class StoreMetrics {
 public:
  static std::unique_ptr<StoreMetrics> Make(const std::shared_ptr<MetricsProvider>& provider,
                                            const std::string& dir);
  StoreMetrics(std::shared_ptr<MetricsProvider> provider, const std::string& dir);

  // The journal wrote `mutations`; 0: it only synced.
  void ObserveCommit(size_t mutations, std::chrono::steady_clock::duration took);

  // As QueueMetrics.
  void Show(std::function<bool()> healthy);
  void Hide() { shown_.Reset(); }

 private:
  const std::shared_ptr<MetricsProvider> provider_;
  const MetricLabels store_;
  const std::shared_ptr<HistogramMetric> duration_;
  const std::shared_ptr<HistogramMetric> mutations_;
  MetricRegistration shown_;  // Last, as above.
};

}  // namespace wq
