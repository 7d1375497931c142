#include "tools/wqctl/text/progress_meter.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/duration.h"

namespace wqctl {
namespace {

constexpr std::string_view kBytes = "bytes";
// A longer time is a guess that helps nobody.
constexpr double kMaxSecondsLeft = 30.0 * 86'400;

std::string Printed(const char* format, double value) {
  std::array<char, 32> text{};
  const int n = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<size_t>(n)};
}

std::string CountText(std::string_view unit, uint64_t count) {
  return unit == kBytes ? FormatBytes(count) : GroupedDigits(count);
}

std::string RateText(std::string_view unit, double rate) {
  if (unit == kBytes) return FormatBytes(static_cast<uint64_t>(rate)) + "/s";
  if (rate >= 999'500) return Printed("%.1f M/s", rate / 1e6);
  if (rate >= 9'950) return Printed("%.0f k/s", rate / 1e3);
  return Printed(rate < 9.95 ? "%.1f/s" : "%.0f/s", rate);
}

}  // namespace

std::string GroupedDigits(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, " ");
  return digits;
}

void ProgressMeter::Begin(ProgressStep step, int64_t now_us) {
  step_ = std::move(step);
  samples_.assign(1, {now_us, {}});
  next_at_us_ = begun_at_us_ + times_.delay_us <= now_us ? now_us : now_us + times_.interval_us;
}

std::optional<std::string> ProgressMeter::Line(const ProgressCount& count, int64_t now_us,
                                               size_t columns) {
  if (!IsDue(now_us)) return std::nullopt;
  next_at_us_ = now_us + times_.interval_us;
  samples_.push_back({now_us, count});
  while (samples_.size() > 2 && samples_[1].at_us <= now_us - times_.window_us) {
    samples_.pop_front();
  }
  if (now_us - begun_at_us_ < times_.delay_us) return std::nullopt;
  if (step_.count_total != nullptr) step_.total = std::exchange(step_.count_total, nullptr)();
  return Text(count).substr(0, columns);
}

std::optional<double> ProgressMeter::RateOf(uint64_t ProgressCount::*units) const {
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  if (last.at_us <= first.at_us || last.count.*units <= first.count.*units) return std::nullopt;
  return static_cast<double>(last.count.*units - first.count.*units) * 1e6 /
         static_cast<double>(last.at_us - first.at_us);
}

std::string ProgressMeter::Text(const ProgressCount& count) const {
  if (step_.unit.empty()) return step_.name;
  // A total that is exceeded was an estimate.
  const bool of_total = step_.total > 0 && count.done <= step_.total;
  std::string text = step_.name + ": " + CountText(step_.unit, count.done);
  if (of_total) text += " of " + CountText(step_.unit, step_.total);
  if (step_.unit != kBytes) text.append(" ").append(step_.unit);
  const uint64_t part = of_total ? count.done : count.part;
  const uint64_t whole = of_total ? step_.total : count.whole;
  const bool has_share = whole > 0 && part <= whole;
  if (has_share) {
    const double share = static_cast<double>(part) / static_cast<double>(whole);
    text += " (" + Printed("%.0f", std::floor(share * 100)) + " %)";
  }
  const std::optional<double> rate = RateOf(&ProgressCount::done);
  if (rate) text += ", " + RateText(step_.unit, *rate);
  const std::optional<double> speed = of_total ? rate : RateOf(&ProgressCount::part);
  if (!has_share || !speed) return text;
  const double seconds = std::ceil(static_cast<double>(whole - part) / *speed);
  if (seconds > kMaxSecondsLeft) return text;
  return text + ", " + FormatAge(std::chrono::seconds(static_cast<int64_t>(seconds))) + " left";
}

}  // namespace wqctl
