#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include "base/check.h"
#include "base/mutex.h"
#include "wq/prometheus.h"

namespace wq {
namespace {

using prometheus::ClientMetric;
using prometheus::Family;
using prometheus::MetricFamily;
using prometheus::MetricType;
using prometheus::Registry;

// The registry owns the series; these objects keep the registry alive.
class RegistryCounter final : public CounterMetric {
 public:
  RegistryCounter(std::shared_ptr<Registry> registry, prometheus::Counter* counter)
      : registry_(std::move(registry)), counter_(counter) {}
  void Add(uint64_t count) override { counter_->Increment(static_cast<double>(count)); }

 private:
  const std::shared_ptr<Registry> registry_;
  prometheus::Counter* const counter_;
};

class RegistryHistogram final : public HistogramMetric {
 public:
  RegistryHistogram(std::shared_ptr<Registry> registry, prometheus::Histogram* histogram)
      : registry_(std::move(registry)), histogram_(histogram) {}
  void Observe(double value) override { histogram_->Observe(value); }

 private:
  const std::shared_ptr<Registry> registry_;
  prometheus::Histogram* const histogram_;
};

// The values of one collection, by metric and labels.
class PulledMetrics {
 public:
  void Take(const Metric& metric, MetricLabels labels, double value) {
    std::sort(labels.begin(), labels.end());
    Series& series = metrics_[std::string(metric.name)];
    series.metric = metric;
    const auto [it, first] = series.values.try_emplace(std::move(labels), value);
    if (!first) {
      it->second = metric.largest ? std::max(it->second, value) : it->second + value;
    }
  }

  void AppendTo(std::vector<MetricFamily>* families) const {
    for (const auto& [name, series] : metrics_) {
      const bool is_counter = series.metric.kind == MetricKind::kCounter;
      MetricFamily& family = families->emplace_back();
      family.name = name;
      family.help = series.metric.help;
      family.type = is_counter ? MetricType::Counter : MetricType::Gauge;
      for (const auto& [labels, value] : series.values) {
        ClientMetric& sample = family.metric.emplace_back();
        for (const auto& [label, label_value] : labels) {
          sample.label.push_back({label, label_value});
        }
        (is_counter ? sample.counter.value : sample.gauge.value) = value;
      }
    }
  }

 private:
  struct Series {
    Metric metric;
    std::map<MetricLabels, double> values;
  };
  std::map<std::string, Series> metrics_;
};

class Provider final : public PrometheusProvider {
 public:
  explicit Provider(std::shared_ptr<Registry> registry) : registry_(std::move(registry)) {}

  std::shared_ptr<CounterMetric> Counter(const Metric& metric,
                                         const MetricLabels& labels) override {
    const MutexLock lock(mu_);
    Family<prometheus::Counter>& family = FamilyOf(&counters_, metric, &prometheus::BuildCounter);
    return std::make_shared<RegistryCounter>(registry_,
                                             &family.Add({labels.begin(), labels.end()}));
  }

  std::shared_ptr<HistogramMetric> Histogram(const Metric& metric,
                                             const MetricLabels& labels) override {
    const MutexLock lock(mu_);
    Family<prometheus::Histogram>& family =
        FamilyOf(&histograms_, metric, &prometheus::BuildHistogram);
    const prometheus::Histogram::BucketBoundaries bounds(metric.bounds.begin(),
                                                         metric.bounds.end());
    return std::make_shared<RegistryHistogram>(registry_,
                                               &family.Add({labels.begin(), labels.end()}, bounds));
  }

  uint64_t Register(MetricReading reading) override {
    const MutexLock lock(readings_mu_);
    readings_.emplace(++last_id_, std::move(reading));
    return last_id_;
  }
  void Unregister(uint64_t id) override {
    const MutexLock lock(readings_mu_);
    readings_.erase(id);
  }

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> families = registry_->Collect();
    PulledMetrics pulled;
    {
      const MutexLock lock(readings_mu_);
      for (const auto& [_, reading] : readings_) {
        reading([&pulled](const Metric& metric, const MetricLabels& labels, double value) {
          pulled.Take(metric, labels, value);
        });
      }
    }
    pulled.AppendTo(&families);
    return families;
  }

 private:
  template <typename T>
  using Families = std::map<std::string, Family<T>*, std::less<>>;

  // The family of the metric; created by the first call.
  template <typename T, typename Build>
  Family<T>& FamilyOf(Families<T>* families, const Metric& metric, const Build& build)
      WQ_REQUIRES(mu_) {
    Family<T>*& family = (*families)[std::string(metric.name)];
    if (family == nullptr) {
      try {
        family = &build()
                      .Name(std::string(metric.name))
                      .Help(std::string(metric.help))
                      .Register(*registry_);
      } catch (const std::exception& e) {
        WQ_CHECK(false, e.what());
      }
    }
    return *family;
  }

  const std::shared_ptr<Registry> registry_;

  Mutex mu_;
  // The registry owns the families.
  Families<prometheus::Counter> counters_ WQ_GUARDED_BY(mu_);
  Families<prometheus::Histogram> histograms_ WQ_GUARDED_BY(mu_);

  mutable Mutex readings_mu_;  // Held during the readings, so that Unregister waits for them.
  std::map<uint64_t, MetricReading> readings_ WQ_GUARDED_BY(readings_mu_);
  uint64_t last_id_ WQ_GUARDED_BY(readings_mu_) = 0;
};

}  // namespace

PrometheusProvider::~PrometheusProvider() = default;

std::shared_ptr<PrometheusProvider> MakePrometheusProvider(std::shared_ptr<Registry> registry) {
  return std::make_shared<Provider>(registry != nullptr ? std::move(registry)
                                                        : std::make_shared<Registry>());
}

std::string PrometheusText(const prometheus::Collectable& collectable) {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, collectable.Collect());
  return std::move(out).str();
}

}  // namespace wq
