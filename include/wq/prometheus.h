// PrometheusProvider: the metrics of stores for Prometheus, by prometheus-cpp.
//
//   auto provider = wq::MakePrometheusProvider();
//   exposer.RegisterCollectable(provider);
//   options.metrics = provider;  // Of as many stores as you like.
//
// In the library wq_prometheus (target wq::prometheus), so that only who wants this links
// prometheus-cpp. Threading: thread-safe. Lifetime: shared; it may outlive the stores, whose gauges
// are gone when they close, while counters and histograms stay.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include "wq/metrics.h"

namespace wq {

// What is to be given to an exposer, or a serializer: Collect returns all of the registry (the
// counters and histograms of the stores, and what else there is in it) and the gauges as they are
// at that moment. So register this *instead of* the registry.
class PrometheusProvider : public MetricsProvider, public prometheus::Collectable {};

// nullptr: a registry of its own. A metric in the registry that has the name but not the type of
// one of docs/metrics.md crashes the program when a store or queue is opened.
std::shared_ptr<PrometheusProvider> MakePrometheusProvider(
    std::shared_ptr<prometheus::Registry> registry = nullptr);

// All of it as text, in the format that a Prometheus server reads (version 0.0.4): for
// ServerOptions::metrics, or any HTTP server that you have.
std::string PrometheusText(const prometheus::Collectable& collectable);

}  // namespace wq
