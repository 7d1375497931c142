#include "engine/metrics/metrics.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace wq {
namespace {

// The buckets of client-go and controller-runtime.
constexpr double kWorkqueueBounds[] = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                       1e-2, 1e-1, 1.0,  1e1,  1e2,  1e3};
constexpr double kCommitBounds[] = {1e-5,   2.5e-5, 5e-5, 1e-4,   2.5e-4, 5e-4, 1e-3,
                                    2.5e-3, 5e-3,   1e-2, 2.5e-2, 5e-2,   0.1,  0.25,
                                    0.5,    1.0,    2.5,  5.0,    10.0};
// From the first delays of common limiters, by factors of 4, to the longest.
constexpr double kLimiterBounds[] = {0.005, 0.02,  0.08,  0.32,   1.28,
                                     5.12,  20.48, 81.92, 327.68, 1000.0};
constexpr double kBatchBounds[] = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144};

// The most values of the label `priority`: more series would be of no use. The last value
// represents all further lanes; its name is that of controller-runtime.
constexpr size_t kMaxPriorities = 25;
constexpr const char* kFurtherPriorities = "exceeded_cardinality_limit";

constexpr Metric kDepth =
    GaugeOf("workqueue_depth", "Current depth of workqueue by workqueue and priority");
constexpr Metric kAdds =
    CounterOf("workqueue_adds_total", "Total number of adds handled by workqueue");
constexpr Metric kQueueDuration = HistogramOf(
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested", kWorkqueueBounds);
constexpr Metric kWorkDuration =
    HistogramOf("workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.", kWorkqueueBounds);
constexpr Metric kUnfinishedWork = GaugeOf(
    "workqueue_unfinished_work_seconds",
    "How many seconds of work has been done that is in progress and hasn't been observed by "
    "work_duration. Large values indicate stuck threads. One can deduce the number of stuck "
    "threads by observing the rate at which this increases.");
constexpr Metric kLongestRunning =
    LargestOf("workqueue_longest_running_processor_seconds",
              "How many seconds has the longest running processor for workqueue been running.");
constexpr Metric kRetries =
    CounterOf("workqueue_retries_total", "Total number of retries handled by workqueue");

constexpr Metric kProcessing = GaugeOf("wq_processing", "Keys that workers hold");
constexpr Metric kDelayed = GaugeOf("wq_delayed", "Keys that wait for their delay");
constexpr Metric kFailing =
    GaugeOf("wq_failing", "Keys with a failure count, the quarantined ones apart");
constexpr Metric kQuarantined = GaugeOf("wq_quarantined", "Keys in quarantine");
constexpr Metric kPaused =
    LargestOf("wq_paused", "1 while the queue is paused and hands out no key, otherwise 0");
constexpr Metric kStuck =
    GaugeOf("wq_stuck", "Keys that workers have held for longer than stuck_after");
constexpr Metric kHeldBack =
    GaugeOf("wq_held_back", "Keys that are ready, but held back by limits on hand-outs");
constexpr Metric kFull =
    CounterOf("wq_full_adds_total", "Adds that found the queue full: they waited, or were refused");
constexpr Metric kHeldAdds =
    CounterOf("wq_held_adds_total", "Adds of keys in quarantine, which stayed there");
constexpr Metric kLimiterDelay =
    HistogramOf("wq_limiter_delay_seconds", "How long in seconds the limiter delays a failed key",
                kLimiterBounds);
constexpr Metric kOldest = LargestOf("wq_oldest_pending_age_seconds",
                                     "How many seconds ago the key that waits longest was added");

constexpr Metric kSourceObjects = GaugeOf("wq_source_objects", "Objects of a source");
constexpr Metric kSourceObservations =
    CounterOf("wq_source_observations_total", "Observations of objects of a source, by outcome");

constexpr Metric kCommitDuration =
    HistogramOf("wq_commit_duration_seconds",
                "How long in seconds a write or a sync of the store takes", kCommitBounds);
constexpr Metric kCommitMutations =
    HistogramOf("wq_commit_batch_mutations", "How many puts and erases one write of the store has",
                kBatchBounds);
constexpr Metric kHealthy =
    GaugeOf("wq_store_healthy",
            "1 while what is acknowledged is durable, 0 from a failed write until recovered");

constexpr Metric kReplicaOwner =
    GaugeOf("wq_replica_owner", "1 if this replica owns the store, otherwise 0");
constexpr Metric kReplicaEpoch = GaugeOf(
    "wq_replica_epoch", "The epoch of this replica's ownership, 0 if it does not own the store");
constexpr Metric kReplicaApplied =
    GaugeOf("wq_replica_applied_entry",
            "The number of the last entry of the log that this replica has applied");
constexpr Metric kReplicaLog =
    GaugeOf("wq_replica_log_healthy", "1 while the log can be reached and followed, otherwise 0");
constexpr Metric kReplicaBehind =
    LargestOf("wq_replica_behind_seconds",
              "How many seconds ago this replica last had all of the log that it knew of");

double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

}  // namespace

CounterMetric::~CounterMetric() = default;
HistogramMetric::~HistogramMetric() = default;
MetricsProvider::~MetricsProvider() = default;

// --- ProcessingTimes ---

void ProcessingTimes::Restart(std::string_view key, int64_t now_us) {
  if (const auto it = begun_us_.find(key); it != begun_us_.end()) {
    it->second = now_us;
  }
}

int64_t ProcessingTimes::End(std::string_view key, int64_t now_us) {
  const auto it = begun_us_.find(key);
  WQ_CHECK(it != begun_us_.end(), "End of a key without a Begin");
  const int64_t begun_us = it->second;
  begun_us_.erase(it);
  return std::max<int64_t>(0, now_us - begun_us);
}

int64_t ProcessingTimes::SumUs(int64_t now_us) const {
  int64_t sum_us = 0;
  for (const auto& [_, begun_us] : begun_us_) {
    sum_us += std::max<int64_t>(0, now_us - begun_us);
  }
  return sum_us;
}

int64_t ProcessingTimes::LongestUs(int64_t now_us) const {
  int64_t longest_us = 0;
  for (const auto& [_, begun_us] : begun_us_) {
    longest_us = std::max(longest_us, now_us - begun_us);
  }
  return longest_us;
}

// --- QueueMetrics ---

std::unique_ptr<QueueMetrics> QueueMetrics::Make(const std::shared_ptr<MetricsProvider>& provider,
                                                 const std::string& queue,
                                                 const QueueOptions& options) {
  return provider == nullptr ? nullptr : std::make_unique<QueueMetrics>(provider, queue, options);
}

QueueMetrics::QueueMetrics(std::shared_ptr<MetricsProvider> provider, const std::string& queue,
                           const QueueOptions& options)
    : provider_(std::move(provider)),
      name_{{"name", queue}},
      name_controller_{{"controller", queue}, {"name", queue}},
      one_lane_(options.order == Order::kFifo || options.order == Order::kFair),
      adds_(provider_->Counter(kAdds, name_controller_)),
      retries_(provider_->Counter(kRetries, name_controller_)),
      queued_(provider_->Histogram(kQueueDuration, name_controller_)),
      worked_(provider_->Histogram(kWorkDuration, name_controller_)),
      full_(provider_->Counter(kFull, name_)),
      held_adds_(provider_->Counter(kHeldAdds, name_)),
      limiter_delay_(provider_->Histogram(kLimiterDelay, name_)) {
  const MutexLock lock(mu_);  // Only for the thread-safety analysis.
  lanes_.insert(kFastLane);
  if (options.order == Order::kTwoLanes) {
    lanes_.insert(kSlowLane);
  }
  if (options.order == Order::kLanes) {
    for (const Lane lane : options.lanes) {
      if (lanes_.size() < kMaxPriorities - 1) {
        lanes_.insert(lane);
      }
    }
  }
}

void QueueMetrics::ObserveQueued(int64_t us) {
  queued_->Observe(Seconds(std::max<int64_t>(0, us)));  // The clock may have been set back.
}
void QueueMetrics::ObserveWorked(int64_t us) { worked_->Observe(Seconds(us)); }
void QueueMetrics::ObserveLimiterDelay(int64_t us) {
  limiter_delay_->Observe(Seconds(std::max<int64_t>(0, us)));
}

void QueueMetrics::Show(std::function<QueueReading()> read) {
  shown_ = MetricRegistration(
      provider_, [this, read = std::move(read)](const MetricSink& sink) { Emit(read(), sink); });
}

void QueueMetrics::Emit(const QueueReading& reading, const MetricSink& sink) {
  EmitDepth(reading.counts, sink);
  sink(kUnfinishedWork, name_controller_, Seconds(reading.unfinished_us));
  sink(kLongestRunning, name_controller_, Seconds(reading.longest_us));
  sink(kProcessing, name_, static_cast<double>(reading.counts.processing));
  sink(kDelayed, name_, static_cast<double>(reading.counts.delayed));
  sink(kFailing, name_, static_cast<double>(reading.counts.failing));
  sink(kQuarantined, name_, static_cast<double>(reading.counts.quarantined));
  sink(kPaused, name_, reading.counts.paused ? 1 : 0);
  sink(kStuck, name_, static_cast<double>(reading.counts.stuck));
  sink(kHeldBack, name_, static_cast<double>(reading.counts.held_back));
  sink(kOldest, name_, Seconds(reading.oldest_us));
  for (const SourceInfo& source : reading.sources) {
    EmitSource(source, sink);
  }
}

void QueueMetrics::EmitSource(const SourceInfo& source, const MetricSink& sink) const {
  MetricLabels labels = name_;
  labels.emplace_back("source", source.name);
  sink(kSourceObjects, labels, static_cast<double>(source.objects));
  std::string& outcome = labels.emplace_back("outcome", "").second;
  for (const auto& [name, count] :
       {std::pair("unchanged", source.unchanged), std::pair("changed", source.changed),
        std::pair("deleted", source.deleted)}) {
    outcome = name;
    sink(kSourceObservations, labels, static_cast<double>(count));
  }
}

void QueueMetrics::EmitDepth(const QueueCounts& counts, const MetricSink& sink) {
  MetricLabels labels = name_controller_;
  std::string& priority = labels.emplace_back("priority", "").second;
  if (one_lane_) {
    sink(kDepth, labels, static_cast<double>(counts.queued));
    return;
  }
  std::set<Lane> own;
  {
    const MutexLock lock(mu_);
    for (auto it = counts.lanes.rbegin();
         it != counts.lanes.rend() && lanes_.size() < kMaxPriorities - 1; ++it) {
      lanes_.insert(it->first);
    }
    own = lanes_;
  }
  size_t further = counts.queued;
  for (const Lane lane : own) {
    const auto it = counts.lanes.find(lane);
    const size_t items = it == counts.lanes.end() ? 0 : it->second;
    further -= items;
    priority = std::to_string(lane);
    sink(kDepth, labels, static_cast<double>(items));
  }
  if (own.size() == kMaxPriorities - 1) {
    priority = kFurtherPriorities;
    sink(kDepth, labels, static_cast<double>(further));
  }
}

// --- StoreMetrics ---

std::unique_ptr<StoreMetrics> StoreMetrics::Make(const std::shared_ptr<MetricsProvider>& provider,
                                                 const std::string& dir) {
  return provider == nullptr ? nullptr : std::make_unique<StoreMetrics>(provider, dir);
}

StoreMetrics::StoreMetrics(std::shared_ptr<MetricsProvider> provider, const std::string& dir)
    : provider_(std::move(provider)),
      store_{{"store", dir}},
      duration_(provider_->Histogram(kCommitDuration, store_)),
      mutations_(provider_->Histogram(kCommitMutations, store_)) {}

void StoreMetrics::ObserveCommit(size_t mutations, std::chrono::steady_clock::duration took) {
  duration_->Observe(std::chrono::duration<double>(took).count());
  if (mutations > 0) {
    mutations_->Observe(static_cast<double>(mutations));
  }
}

void StoreMetrics::Show(std::function<bool()> healthy) {
  shown_ =
      MetricRegistration(provider_, [this, healthy = std::move(healthy)](const MetricSink& sink) {
        sink(kHealthy, store_, healthy() ? 1 : 0);
      });
}

// --- ReplicaMetrics ---

std::unique_ptr<ReplicaMetrics> ReplicaMetrics::Make(
    const std::shared_ptr<MetricsProvider>& provider, const std::string& dir,
    std::function<ReplicaReading()> read) {
  return provider == nullptr ? nullptr
                             : std::make_unique<ReplicaMetrics>(provider, dir, std::move(read));
}

ReplicaMetrics::ReplicaMetrics(const std::shared_ptr<MetricsProvider>& provider,
                               const std::string& dir, std::function<ReplicaReading()> read)
    : store_{{"store", dir}},
      shown_(provider, [this, read = std::move(read)](const MetricSink& sink) {
        const ReplicaReading now = read();
        sink(kReplicaOwner, store_, now.owner ? 1 : 0);
        sink(kReplicaEpoch, store_, static_cast<double>(now.epoch));
        sink(kReplicaApplied, store_, static_cast<double>(now.applied));
        sink(kReplicaLog, store_, now.log_reachable ? 1 : 0);
        sink(kReplicaBehind, store_, now.seconds_behind);
      }) {}

// --- MetricRegistration ---

MetricRegistration::MetricRegistration(std::shared_ptr<MetricsProvider> provider,
                                       MetricReading reading)
    : provider_(std::move(provider)), id_(provider_->Register(std::move(reading))) {}

MetricRegistration::MetricRegistration(MetricRegistration&& other) noexcept
    : provider_(std::move(other.provider_)), id_(std::exchange(other.id_, 0)) {}

MetricRegistration& MetricRegistration::operator=(MetricRegistration&& other) noexcept {
  if (this != &other) {
    Reset();
    provider_ = std::move(other.provider_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

MetricRegistration::~MetricRegistration() { Reset(); }

void MetricRegistration::Reset() {
  if (provider_ != nullptr) {
    provider_->Unregister(id_);
    provider_.reset();
  }
}

}  // namespace wq
