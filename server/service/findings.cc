#include "server/service/findings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "wq/keys.h"

namespace wq {
namespace {

using OverviewFinding = v1::GetOverviewResponse::Finding;

constexpr int64_t kMinuteUs = 60'000'000;
constexpr int64_t kHourUs = 60 * kMinuteUs;
// A queue that hands out nothing for this long stands still.
constexpr int64_t kStillUs = kMinuteUs;
constexpr size_t kMessageBytes = 1000;

struct Step {
  int64_t us;
  const char* text;
};
constexpr std::array<Step, 5> kAges = {{{kHourUs * 24 * 7, "a week"},
                                        {kHourUs * 24, "a day"},
                                        {kHourUs * 6, "six hours"},
                                        {kHourUs, "an hour"},
                                        {0, ""}}};

// "1 key is", "7 keys are".
std::string KeysAre(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " key is" : " keys are");
}

class Inspector {
 public:
  // Adds to the findings of `overview`.
  Inspector(bool live, v1::GetOverviewResponse* overview)
      : live_(live), now_us_(overview->now_us()), found_(overview->mutable_findings()) {}

  void InspectStore(const v1::Error& health) {
    if (health.code() != v1::CODE_OK) {
      Add(OverviewFinding::BAD, "",
          "The store is not durable: " + EscapeKey(health.message(), kMessageBytes));
    }
  }

  void Inspect(const v1::GetOverviewResponse::Queue& queue) {
    if (!queue.open()) {
      return;
    }
    const v1::QueueCounts& counts = queue.counts();
    if (counts.quarantined() > 0) {
      Add(OverviewFinding::BAD, queue.name(),
          KeysAre(counts.quarantined()) + " in quarantine until " +
              (counts.quarantined() == 1 ? "it is" : "they are") + " released.");
    }
    if (counts.stuck() > 0) {
      Add(OverviewFinding::BAD, queue.name(),
          KeysAre(counts.stuck()) + " stuck: " +
              (counts.stuck() == 1 ? "its worker holds it" : "their workers hold them") +
              " for longer than the queue's stuck_after.");
    }
    if (queue.full_per_second() > 0) {
      Add(OverviewFinding::ODD, queue.name(), "The queue is full: adds wait, or are refused.");
    }
    if (counts.failing() > 0) {
      Add(OverviewFinding::ODD, queue.name(), KeysAre(counts.failing()) + " failing.");
    }
    if (counts.paused()) {
      Add(OverviewFinding::ODD, queue.name(),
          queue.paused_until_us() == 0
              ? "The queue is paused: nothing is handed out until it is resumed."
              : "The queue is paused for a time.");
    }
    if (counts.shutting_down()) {
      Add(OverviewFinding::ODD, queue.name(),
          "The queue is shutting down: it takes no further keys.");
    }
    InspectAge(queue);
  }

 private:
  void InspectAge(const v1::GetOverviewResponse::Queue& queue) {
    const v1::QueueCounts& counts = queue.counts();
    if (counts.queued() == 0 || queue.oldest_added_at_us() == 0) {
      return;
    }
    const int64_t age_us = now_us_ - queue.oldest_added_at_us();
    if (live_ && age_us >= kStillUs && !counts.paused() && counts.processing() == 0 &&
        queue.dones_per_second() == 0) {
      Add(OverviewFinding::BAD, queue.name(),
          "Keys are queued, and nobody works on them" +
              std::string(queue.workers() == 0 ? ": no worker is connected to the server." : "."));
    }
    const auto* const step = std::find_if(kAges.begin(), kAges.end(),
                                          [age_us](const Step& s) { return age_us >= s.us; });
    if (step != kAges.end() && step->us > 0) {
      Add(OverviewFinding::ODD, queue.name(),
          "The oldest queued key waits for more than " + std::string(step->text) + ".");
    }
  }

  void Add(OverviewFinding::Weight weight, const std::string& queue, std::string text) {
    OverviewFinding* const finding = found_->Add();
    finding->set_weight(weight);
    finding->set_queue(queue);
    finding->set_text(std::move(text));
  }

  const bool live_;
  const int64_t now_us_;
  google::protobuf::RepeatedPtrField<OverviewFinding>* const found_;
};

}  // namespace

void AddFindings(bool live, v1::GetOverviewResponse* overview) {
  overview->clear_findings();
  Inspector inspector(live, overview);
  inspector.InspectStore(overview->health());
  for (const v1::GetOverviewResponse::Queue& queue : overview->queues()) {
    inspector.Inspect(queue);
  }
  std::stable_sort(
      overview->mutable_findings()->begin(), overview->mutable_findings()->end(),
      [](const OverviewFinding& a, const OverviewFinding& b) { return a.weight() > b.weight(); });
}

}  // namespace wq
