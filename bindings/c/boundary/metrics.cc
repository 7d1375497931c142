#include "bindings/c/boundary/metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace wq::c {

class SummedCounter final : public CounterMetric {
 public:
  void Add(uint64_t count) override { count_.fetch_add(count, std::memory_order_relaxed); }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_ = 0;
};

class SummedHistogram final : public HistogramMetric {
 public:
  explicit SummedHistogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Observe(double value) override {
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  std::span<const double> bounds() const { return bounds_; }
  // Of the values up to bound i and above bound i - 1; of the last i, above all bounds.
  uint64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::span<const double> bounds_;  // Constants of the library.
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

namespace {

// The shortest text that is read as the same number.
std::string NumberText(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

void AppendEscaped(std::string_view text, bool quoted, std::string* to) {
  for (const char c : text) {
    if (c == '\n') {
      *to += "\\n";
    } else {
      if (c == '\\' || (quoted && c == '"')) {
        *to += '\\';
      }
      *to += c;
    }
  }
}

std::string_view TypeName(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      break;
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "gauge";
}

// The text of each metric, by name.
class Texts {
 public:
  // Appends the line of one sample: `suffix` follows the name, `le` is the bound of a bucket or "".
  void Append(const Metric& metric, std::string_view suffix, const MetricLabels& labels,
              std::string_view le, std::string_view value) {
    std::string& text = BeginOf(metric);
    text.append(metric.name).append(suffix);
    char before = '{';
    const auto append_label = [&](std::string_view name, std::string_view of) {
      text += std::exchange(before, ',');
      text.append(name).append("=\"");
      AppendEscaped(of, true, &text);
      text += '"';
    };
    for (const auto& [name, of] : labels) {
      append_label(name, of);
    }
    if (!le.empty()) {
      append_label("le", le);
    }
    text.append(before == ',' ? "} " : " ").append(value).append("\n");
  }
  void Append(const Metric& metric, const MetricLabels& labels, const SummedHistogram& histogram) {
    uint64_t count = 0;
    for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
      count += histogram.count(i);
      const bool last = i == histogram.bounds().size();
      Append(metric, "_bucket", labels, last ? "+Inf" : NumberText(histogram.bounds()[i]),
             std::to_string(count));
    }
    Append(metric, "_sum", labels, "", NumberText(histogram.sum()));
    Append(metric, "_count", labels, "", std::to_string(count));
  }
  std::string All() const {
    std::string all;
    for (const auto& [_, text] : texts_) {
      all += text;
    }
    return all;
  }

 private:
  std::string& BeginOf(const Metric& metric) {
    const auto [it, first] = texts_.try_emplace(metric.name);
    if (first) {
      it->second.append("# HELP ").append(metric.name).append(" ");
      AppendEscaped(metric.help, false, &it->second);
      it->second.append("\n# TYPE ").append(metric.name).append(" ");
      it->second.append(TypeName(metric.kind)).append("\n");
    }
    return it->second;
  }

  std::map<std::string_view, std::string> texts_;
};

}  // namespace

TextMetrics::Family& TextMetrics::FamilyOf(const Metric& metric) {
  Family& family = families_[metric.name];
  family.metric = metric;
  return family;
}

std::shared_ptr<CounterMetric> TextMetrics::Counter(const Metric& metric,
                                                    const MetricLabels& labels) {
  const MutexLock lock(mu_);
  std::shared_ptr<SummedCounter>& series = FamilyOf(metric).counters[labels];
  if (series == nullptr) {
    series = std::make_shared<SummedCounter>();
  }
  return series;
}

std::shared_ptr<HistogramMetric> TextMetrics::Histogram(const Metric& metric,
                                                        const MetricLabels& labels) {
  const MutexLock lock(mu_);
  std::shared_ptr<SummedHistogram>& series = FamilyOf(metric).histograms[labels];
  if (series == nullptr) {
    series = std::make_shared<SummedHistogram>(metric.bounds);
  }
  return series;
}

uint64_t TextMetrics::Register(MetricReading reading) {
  const MutexLock lock(readings_mu_);
  readings_.emplace(++last_id_, std::move(reading));
  return last_id_;
}

void TextMetrics::Unregister(uint64_t id) {
  const MutexLock lock(readings_mu_);
  readings_.erase(id);
}

std::string TextMetrics::Text() {
  Texts texts;
  {
    const MutexLock lock(mu_);
    for (const auto& [_, family] : families_) {
      for (const auto& [labels, counter] : family.counters) {
        texts.Append(family.metric, "", labels, "", std::to_string(counter->count()));
      }
      for (const auto& [labels, histogram] : family.histograms) {
        texts.Append(family.metric, labels, *histogram);
      }
    }
  }
  const MutexLock lock(readings_mu_);
  for (const auto& [_, reading] : readings_) {
    reading([&texts](const Metric& metric, const MetricLabels& labels, double value) {
      texts.Append(metric, "", labels, "", NumberText(value));
    });
  }
  return texts.All();
}

}  // namespace wq::c
