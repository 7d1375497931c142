// The text of the metrics: each kind of series in the format that a Prometheus server reads.

#include "bindings/c/boundary/metrics.h"

#include <array>
#include <string>

#include "tests/c/c_fixture.h"

namespace wq::c {
namespace {

constexpr std::array<double, 2> kBounds{1e-8, 0.5};

TEST(TextMetricsTest, ASeriesIsWrittenInTheTextFormat) {
  TextMetrics metrics;
  const Metric counter{.kind = MetricKind::kCounter, .name = "c_total", .help = "a\\b\nc\"d"};
  const Metric gauge{.kind = MetricKind::kGauge, .name = "b", .help = "B"};
  const Metric histogram{
      .kind = MetricKind::kHistogram, .name = "a", .help = "A", .bounds = kBounds};
  metrics.Counter(counter, {})->Add(7);
  const MetricLabels labels{{"name", "q"}, {"why", "a\\b\"c\nd"}};
  metrics.Counter(counter, labels)->Add(2);
  metrics.Counter(counter, labels)->Add(3);
  for (const double value : {1e-8, 0.25, 0.25, 3.0}) {
    metrics.Histogram(histogram, {})->Observe(value);
  }
  const uint64_t id = metrics.Register([&](const MetricSink& sink) {
    sink(gauge, {{"name", "q"}}, 1.5);
  });
  EXPECT_EQ(metrics.Text(),
            "# HELP a A\n"
            "# TYPE a histogram\n"
            "a_bucket{le=\"1e-08\"} 1\n"
            "a_bucket{le=\"0.5\"} 3\n"
            "a_bucket{le=\"+Inf\"} 4\n"
            "a_sum 3.50000001\n"
            "a_count 4\n"
            "# HELP b B\n"
            "# TYPE b gauge\n"
            "b{name=\"q\"} 1.5\n"
            "# HELP c_total a\\\\b\\nc\"d\n"
            "# TYPE c_total counter\n"
            "c_total 7\n"
            "c_total{name=\"q\",why=\"a\\\\b\\\"c\\nd\"} 5\n");
  metrics.Unregister(id);
  EXPECT_EQ(metrics.Text().find("# HELP b"), std::string::npos);
}

class MetricsCTest : public CTest {};

TEST_F(MetricsCTest, AStoreHasItsMetricsUntilItIsFreed) {
  auto options = Sized<wq_store_options>();
  options.metrics = 1;
  wq_store store = WQ_NO_STORE;
  ASSERT_EQ(wq_store_open_in_memory(&options, &store, &error_), WQ_OK) << error_.message;
  ASSERT_EQ(wq_store_open_queue(store, "q", nullptr, &queue_, &error_), WQ_OK) << error_.message;
  ASSERT_EQ(Add("a"), WQ_OK);
  const auto text = [&] {
    EXPECT_EQ(wq_store_metrics(store, &bytes_, &error_), WQ_OK) << error_.message;
    return std::string(bytes_.data, bytes_.size);
  };
  EXPECT_NE(text().find("\nworkqueue_depth{"), std::string::npos) << text();
  EXPECT_NE(text().find("\nworkqueue_adds_total{"), std::string::npos) << text();
  ASSERT_EQ(wq_store_close(store, &error_), WQ_OK);
  EXPECT_NE(text().find("\nworkqueue_adds_total{"), std::string::npos) << text();
  EXPECT_EQ(wq_store_metrics(store, nullptr, &error_), WQ_INVALID_ARGUMENT);
  ASSERT_EQ(wq_store_free(store, &error_), WQ_OK);
  EXPECT_EQ(wq_store_metrics(store, &bytes_, &error_), WQ_BAD_HANDLE);
}

}  // namespace
}  // namespace wq::c
