// FakeProvider: a MetricsProvider that keeps all values in memory, by "name{label=value,...}".
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "wq/metrics.h"

namespace wq {

inline std::string SeriesName(const Metric& metric, const MetricLabels& labels) {
  std::string name(metric.name);
  const char* separator = "{";
  for (const auto& [label, value] : labels) {
    name.append(separator).append(label).append("=").append(value);
    separator = ",";
  }
  return labels.empty() ? name : name + "}";
}

class FakeProvider final : public MetricsProvider {
 public:
  // Called with the name of a series before each push to it.
  std::function<void(const std::string&)> on_push;

  std::shared_ptr<CounterMetric> Counter(const Metric& metric,
                                         const MetricLabels& labels) override {
    Push(SeriesName(metric, labels), 0);
    return std::make_shared<Series>(this, SeriesName(metric, labels));
  }
  std::shared_ptr<HistogramMetric> Histogram(const Metric& metric,
                                             const MetricLabels& labels) override {
    const std::lock_guard lock(mu_);
    observed_[SeriesName(metric, labels)];
    return std::make_shared<Series>(this, SeriesName(metric, labels));
  }
  uint64_t Register(MetricReading reading) override {
    const std::lock_guard lock(readings_mu_);
    readings_.emplace(++last_id_, std::move(reading));
    return last_id_;
  }
  void Unregister(uint64_t id) override {
    const std::lock_guard lock(readings_mu_);
    readings_.erase(id);
  }

  uint64_t Count(const std::string& series) {
    const std::lock_guard lock(mu_);
    return counts_.at(series);
  }
  std::vector<double> Observed(const std::string& series) {
    const std::lock_guard lock(mu_);
    return observed_.at(series);
  }
  // The present value of every gauge.
  std::map<std::string, double> Scrape() {
    std::map<std::string, double> gauges;
    const std::lock_guard lock(readings_mu_);
    for (const auto& [_, reading] : readings_) {
      reading([&gauges](const Metric& metric, const MetricLabels& labels, double value) {
        gauges[SeriesName(metric, labels)] += value;
      });
    }
    return gauges;
  }
  // The number of series.
  size_t Size() {
    const size_t gauges = Scrape().size();
    const std::lock_guard lock(mu_);
    return gauges + counts_.size() + observed_.size();
  }

 private:
  class Series final : public CounterMetric, public HistogramMetric {
   public:
    Series(FakeProvider* provider, std::string name)
        : provider_(provider), name_(std::move(name)) {}
    void Add(uint64_t count) override { provider_->Push(name_, count); }
    void Observe(double value) override { provider_->PushObserved(name_, value); }

   private:
    FakeProvider* const provider_;
    const std::string name_;
  };

  void Push(const std::string& series, uint64_t count) {
    if (on_push) {
      on_push(series);
    }
    const std::lock_guard lock(mu_);
    counts_[series] += count;
  }
  void PushObserved(const std::string& series, double value) {
    if (on_push) {
      on_push(series);
    }
    const std::lock_guard lock(mu_);
    observed_[series].push_back(value);
  }

  std::mutex mu_;
  std::map<std::string, uint64_t> counts_;               // Under mu_.
  std::map<std::string, std::vector<double>> observed_;  // Under mu_.
  std::mutex readings_mu_;                               // Held while a reading is called.
  std::map<uint64_t, MetricReading> readings_;           // Under readings_mu_.
  uint64_t last_id_ = 0;                                 // Under readings_mu_.
};

}  // namespace wq
