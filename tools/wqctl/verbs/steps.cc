#include "tools/wqctl/verbs/steps.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace wqctl {
namespace {

// By wq::Progress::Unit.
constexpr std::array<std::string_view, 3> kUnits = {"bytes", "records", ""};

// The keys with failures that are in no other state are not counted.
uint64_t CountEntries(const wq::StoreView& view, const std::vector<std::string>& queues) {
  uint64_t entries = 0;
  for (const std::string& queue : queues) {
    wq::QueueSummary summary;
    // What cannot be read has no total; the verb itself reports why.
    if (!view.Summarize(queue, {.top_failing = 0, .top_groups = 0}, &summary).ok()) return 0;
    entries += summary.pending + summary.delayed + summary.quarantined;
  }
  return entries;
}

}  // namespace

ProgressStep StepOfEntries(std::string name, const wq::StoreView& view,
                           std::vector<std::string> queues, const Filter& filter) {
  ProgressStep step = {.name = std::move(name), .unit = "keys"};
  if (filter.SelectsAll()) {
    step.count_total = [&view, queues = std::move(queues)] { return CountEntries(view, queues); };
  }
  return step;
}

wq::ProgressCallback StepsOf(std::string verb, ProgressLine* progress) {
  return [verb = std::move(verb), progress,
          step = std::string_view()](const wq::Progress& now) mutable {
    if (now.step != step || now.done == 0) {
      step = now.step;
      const std::string_view unit = kUnits[static_cast<size_t>(now.unit)];
      progress->Begin({.name = verb + ": " + std::string(step), .unit = unit, .total = now.total});
    }
    progress->Set(now.done);
  };
}

}  // namespace wqctl
