// Classes that implement the interfaces of wq, as programs do. headers_test.sh compiles it under
// -Weverything, where clang checks the interfaces' own vtables.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wq/clock.h"
#include "wq/controller.h"
#include "wq/limiter.h"
#include "wq/metrics.h"
#include "wq/queue_access.h"

namespace {

class NoDelay final : public wq::Limiter {
 public:
  std::chrono::microseconds When(std::string_view /*key*/, uint64_t /*failures*/,
                                 wq::Time /*now*/) override {
    return std::chrono::microseconds(0);
  }
};

class StoppedClock final : public wq::Clock {
 public:
  int64_t SteadyUs() const override { return 1; }
  int64_t WallUs() const override { return 1; }
};

class Silent final : public wq::ControllerObserver {};

class NoCounter final : public wq::CounterMetric {
 public:
  void Add(uint64_t /*count*/) override {}
};

class NoHistogram final : public wq::HistogramMetric {
 public:
  void Observe(double /*value*/) override {}
};

class NoMetrics final : public wq::MetricsProvider {
 public:
  std::shared_ptr<wq::CounterMetric> Counter(const wq::Metric& /*metric*/,
                                             const wq::MetricLabels& /*labels*/) override {
    return std::make_shared<NoCounter>();
  }
  std::shared_ptr<wq::HistogramMetric> Histogram(const wq::Metric& /*metric*/,
                                                 const wq::MetricLabels& /*labels*/) override {
    return std::make_shared<NoHistogram>();
  }
  uint64_t Register(wq::MetricReading /*reading*/) override { return 1; }
  void Unregister(uint64_t /*id*/) override {}
};

class NoAccess final : public wq::QueueAccess {
 public:
  wq::Status Add(std::span<const std::string_view> /*keys*/, const wq::AddRequest& /*request*/,
                 wq::BatchResult* /*result*/) override {
    return {};
  }
  wq::Status Change(wq::KeyChange /*change*/, std::span<const std::string_view> /*keys*/,
                    const wq::ChangeOptions& /*options*/, wq::ChangeResult* /*result*/) override {
    return {};
  }
  wq::Status Pause(std::optional<std::chrono::microseconds> /*duration*/) override { return {}; }
  wq::Status Resume(bool* /*was_paused*/) override { return {}; }
  wq::Status Flush(wq::Durability /*durability*/) override { return {}; }
};

// Instances, without which the classes' vtables are not used.
[[maybe_unused]] void Implement() {
  const NoDelay no_delay;
  const StoppedClock clock;
  const Silent silent;
  const NoMetrics metrics;
  const NoAccess access;
}

}  // namespace
