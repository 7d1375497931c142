#include "bindings/c/boundary/metrics.h"

#include <string>
#include <utility>
#include <vector>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"

namespace wq::c {
namespace {

// A series of the caller's; Base is what the library pushes to.
template <typename Base>
class Pushed : public Base {
 public:
  Pushed(const wq_metrics& callbacks, void* series) : callbacks_(callbacks), series_(series) {}

 protected:
  const wq_metrics callbacks_;
  void* const series_;
};

class Counted final : public Pushed<CounterMetric> {
 public:
  using Pushed::Pushed;
  void Add(uint64_t count) override {
    const CallbackScope scope;
    callbacks_.add(callbacks_.arg, series_, count);
  }
};

class Observed final : public Pushed<HistogramMetric> {
 public:
  using Pushed::Pushed;
  void Observe(double value) override {
    const CallbackScope scope;
    callbacks_.observe(callbacks_.arg, series_, value);
  }
};

int32_t KindOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return WQ_COUNTER;
    case MetricKind::kGauge:
      break;
    case MetricKind::kHistogram:
      return WQ_HISTOGRAM;
  }
  return WQ_GAUGE;
}

// Calls `use(metric, labels, label_count)` with the C form of a metric and its labels, which is
// valid during the call.
template <typename Use>
void AsC(const Metric& metric, const MetricLabels& labels, const Use& use) {
  const std::string name(metric.name);
  const std::string help(metric.help);
  const wq_metric c_metric{.name = name.c_str(),
                           .help = help.c_str(),
                           .kind = KindOf(metric.kind),
                           .bounds = metric.bounds.data(),
                           .bound_count = metric.bounds.size(),
                           .largest = metric.largest ? 1 : 0};
  std::vector<wq_label> c_labels;
  c_labels.reserve(labels.size());
  for (const auto& [label, value] : labels) {
    c_labels.push_back({.name = label.c_str(), .value = value.c_str()});
  }
  const CallbackScope scope;
  use(&c_metric, c_labels.data(), c_labels.size());
}

}  // namespace

Status CallbackProvider::Make(const wq_metrics* metrics,
                              std::shared_ptr<CallbackProvider>* provider) {
  provider->reset();
  if (metrics == nullptr) {
    return {};
  }
  wq_metrics callbacks;
  if (Status s = ReadSized("metrics", metrics, &callbacks); !s.ok()) {
    return s;
  }
  if (callbacks.series == nullptr || callbacks.add == nullptr || callbacks.observe == nullptr) {
    return Status::InvalidArgument("metrics lacks a callback");
  }
  *provider = std::make_shared<CallbackProvider>(callbacks);
  return {};
}

void* CallbackProvider::Series(const Metric& metric, const MetricLabels& labels) const {
  void* series = nullptr;
  AsC(metric, labels, [&](const wq_metric* c_metric, const wq_label* c_labels, size_t count) {
    series = callbacks_.series(callbacks_.arg, c_metric, c_labels, count);
  });
  return series;
}

std::shared_ptr<CounterMetric> CallbackProvider::Counter(const Metric& metric,
                                                         const MetricLabels& labels) {
  return std::make_shared<Counted>(callbacks_, Series(metric, labels));
}

std::shared_ptr<HistogramMetric> CallbackProvider::Histogram(const Metric& metric,
                                                             const MetricLabels& labels) {
  return std::make_shared<Observed>(callbacks_, Series(metric, labels));
}

uint64_t CallbackProvider::Register(MetricReading reading) {
  const MutexLock lock(mu_);
  readings_.emplace(next_id_, std::move(reading));
  return next_id_++;
}

void CallbackProvider::Unregister(uint64_t id) {
  const MutexLock lock(mu_);
  readings_.erase(id);
}

void CallbackProvider::ReadGauges(wq_visit_gauge visit, void* arg) {
  struct Reading {
    const Metric* metric;
    MetricLabels labels;
    double value;
  };
  std::vector<Reading> all;
  {
    const MutexLock lock(mu_);
    for (const auto& [_, reading] : readings_) {
      reading([&all](const Metric& metric, const MetricLabels& labels, double value) {
        all.push_back({.metric = &metric, .labels = labels, .value = value});
      });
    }
  }
  for (const Reading& reading : all) {
    AsC(*reading.metric, reading.labels,
        [&](const wq_metric* metric, const wq_label* labels, size_t count) {
          visit(arg, metric, labels, count, reading.value);
        });
  }
}

}  // namespace wq::c
