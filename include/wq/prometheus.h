// PrometheusProvider: exports the metrics of stores to Prometheus, by prometheus-cpp.
//
//   auto provider = wq::MakePrometheusProvider();
//   exposer.RegisterCollectable(provider);
//   options.metrics = provider;  // Of any number of stores.
//
// In the library wq_prometheus (target wq::prometheus), so that other programs do not link
// prometheus-cpp.
// Threading: thread-safe. Lifetime: shared; it may outlive the stores, whose gauges are removed
// when they close, while counters and histograms stay. A crash: counters and histograms start at
// 0 again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include "wq/metrics.h"

namespace wq {

// For an exposer, or a serializer: Collect returns the whole registry (the counters and histograms
// of the stores, and its other metrics) and the gauges as they are at that instant. So register the
// provider *instead of* the registry.
class PrometheusProvider : public MetricsProvider, public prometheus::Collectable {
 public:
  ~PrometheusProvider() override;
};

// Makes a provider. nullptr: with its own registry. A metric in the registry that has the name but
// not the type of a metric of docs/metrics.md crashes the program when a store or queue is opened.
std::shared_ptr<PrometheusProvider> MakePrometheusProvider(
    std::shared_ptr<prometheus::Registry> registry = nullptr);

// Returns all metrics as text, in the format that a Prometheus server reads (version 0.0.4): for
// ServerOptions::metrics, or any HTTP server.
std::string PrometheusText(const prometheus::Collectable& collectable);

}  // namespace wq
