#include "tools/wqctl/report/report_findings.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "tools/wqctl/report/html.h"
#include "tools/wqctl/report/store_text.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kErrorBytes = 160;
constexpr uint64_t kFewKeys = 20;  // With fewer keys any share is normal.

// Keys in the buckets of a histogram that are wholly above `bound`.
template <typename T, size_t N>
uint64_t CountAbove(const wq::Histogram<T, N>& histogram, const std::array<T, N>& bounds, T bound) {
  const auto at = std::find(bounds.begin(), bounds.end(), bound) - bounds.begin();
  return std::accumulate(histogram.counts.begin() + at + 1, histogram.counts.end(), uint64_t{0});
}

// "1 key is", "7 keys are".
std::string KeysAre(uint64_t count, const std::string& are, const std::string& is) {
  return GroupedCount(count) + (count == 1 ? " key " + is : " keys " + are);
}

class Inspector {
 public:
  Inspector(const Show& show, std::vector<ReportFinding>* found) : show_(show), found_(found) {}

  void Inspect(const wq::StoreInfo& store) {
    if (store.owner_pid == 0 || store.owner_alive || store.owner_closed) return;
    if (store.snapshot_at_us != 0) return;
    found_->push_back({Weight::kBad, "store",
                       "The last owner, " + OwnerText(store) + ": it was killed, or it crashed.",
                       "wqctl verify"});
  }

  void Inspect(const wq::QueueSummary& queue) {
    InspectFailures(queue);
    InspectQuarantine(queue);
    InspectPause(queue);
    InspectAges(queue);
    InspectGroups(queue.groups, "group", queue);
    InspectGroups(queue.namespaces, "namespace", queue);
  }

 private:
  void Add(Weight weight, const wq::QueueSummary& queue, std::string text,
           const std::string& command) {
    const std::string name = wq::EscapeKey(queue.name);
    found_->push_back(
        {weight, name, std::move(text), command.empty() ? "" : "wqctl " + command + " -q " + name});
  }

  void InspectFailures(const wq::QueueSummary& queue) {
    if (queue.failing == 0 || queue.top_failing.empty()) return;
    const uint64_t often = CountAbove(queue.failure_counts, wq::kFailureBounds, uint64_t{10});
    const wq::FailingKey& worst = queue.top_failing.front();
    std::string text = KeysAre(queue.failing, "are failing", "is failing");
    if (often > 0) text += ", " + GroupedCount(often) + " of them more than 10 times";
    text += "; most of all " + wq::EscapeKey(worst.key, 100) + ", " +
            GroupedCount(worst.failures.count) + " times, " + show_.Ago(worst.failures.last_at_us);
    if (!worst.failures.last_error.empty()) {
      text += ": " + wq::EscapeKey(worst.failures.last_error, kErrorBytes);
    }
    Add(often > 0 ? Weight::kBad : Weight::kOdd, queue, std::move(text),
        "ls --failures-over 0 --sort-by failures --limit 50");
  }

  void InspectQuarantine(const wq::QueueSummary& queue) {
    if (queue.quarantined == 0) return;
    Add(Weight::kBad, queue,
        KeysAre(queue.quarantined, "are in quarantine until they are released.",
                "is in quarantine until it is released."),
        "quarantine ls");
  }

  void InspectPause(const wq::QueueSummary& queue) {
    if (!queue.PausedAt(show_.now_us)) return;
    std::string text = "The queue is paused: ";
    text += queue.paused_until_us ? "it resumes " + show_.Until(*queue.paused_until_us) + "."
                                  : "nothing is handed out until wqctl resume.";
    Add(Weight::kOdd, queue, std::move(text), "");
  }

  void InspectAges(const wq::QueueSummary& queue) {
    constexpr int64_t kHourUs = 3'600'000'000;
    const uint64_t old = CountAbove(queue.ages, wq::kAgeBoundsUs, kHourUs);
    if (old == 0 || !queue.oldest_added_at_us) return;
    Add(Weight::kOdd, queue,
        KeysAre(old, "have", "has") + " been pending for more than an hour, the oldest for " +
            show_.Age(*queue.oldest_added_at_us) + ".",
        "ls --state pending --older-than 1h");
  }

  // A group with most of the keys may keep the other groups waiting.
  void InspectGroups(const wq::GroupDepths& depths, const std::string& kind,
                     const wq::QueueSummary& queue) {
    if (depths.count < 2 || depths.top.empty() || queue.pending < kFewKeys) return;
    const wq::GroupDepth& deepest = depths.top.front();
    if (deepest.pending <= queue.pending / 4 * 3) return;
    const auto percent = static_cast<uint64_t>(100.0 * static_cast<double>(deepest.pending) /
                                               static_cast<double>(queue.pending));
    Add(Weight::kOdd, queue,
        "The " + kind + " " + wq::EscapeKey(deepest.group, 100) + " has " +
            std::to_string(percent) + " % of the pending keys.",
        "");
  }

  const Show& show_;
  std::vector<ReportFinding>* const found_;
};

}  // namespace

std::vector<ReportFinding> FindingsOf(const wq::StoreInfo& store,
                                      const std::vector<wq::QueueSummary>& queues,
                                      const Show& show) {
  std::vector<ReportFinding> found;
  Inspector inspector(show, &found);
  inspector.Inspect(store);
  for (const wq::QueueSummary& queue : queues) inspector.Inspect(queue);
  std::stable_sort(found.begin(), found.end(), [](const ReportFinding& a, const ReportFinding& b) {
    return a.weight < b.weight;
  });
  return found;
}

}  // namespace wqctl
