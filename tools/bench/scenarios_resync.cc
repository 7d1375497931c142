// Scenario resync: all keys are reconciled once, and again in each period. The clock is the
// scenario's, so that periods of an hour take what the work takes.

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"
#include "wq/clock.h"

namespace wq::bench {
namespace {

constexpr std::chrono::microseconds kPeriod = std::chrono::hours(1);
constexpr size_t kPeriods = 3;
constexpr size_t kWindows = 100;  // Of each period.
// A queue looks for resyncs so often; after longer gaps they come more slowly.
constexpr std::chrono::microseconds kStep = std::chrono::milliseconds(40);
constexpr size_t kBatch = 1024;

// Get and Done of all that is queued. Returns how many keys.
size_t DrainQueued(Queue* queue, std::vector<HeldKey>* held) {
  size_t count = 0;
  while (queue->Len() > 0) {  // Adds what is due.
    held->clear();
    Require(queue->TryGet(kBatch, held), "TryGet");
    for (const HeldKey& key : *held) {
      const Status status = queue->Done(key.key);
      if (!status.ok()) Require(status, "Done");
    }
    count += held->size();
  }
  return count;
}

}  // namespace

void Resyncs(Bench& bench) {
  const size_t count = std::max<size_t>(bench.settings().keys, 1000);
  const Keys keys(count, bench.settings().seed);
  bench.Alternate({[&](const std::string&) {
    ManualClock clock;
    const Subject subject = Subject::Open("", {.resync = {.period = kPeriod}}, &clock);
    std::vector<HeldKey> held;
    AddAll(subject.queue, keys, Durability::kAsync);
    RequireEqual(DrainQueued(subject.queue, &held), count, "keys of the first reconcile");
    RequireEqual(subject.queue->Counts().resyncs, count, "keys that wait for their resync");
    size_t all = 0;
    size_t busiest = 0;
    for (size_t window = 0; window < kPeriods * kWindows; ++window) {
      size_t in_window = 0;
      for (size_t step = 0; step < kPeriod / kWindows / kStep; ++step) {
        clock.Advance(kStep);
        in_window += DrainQueued(subject.queue, &held);
      }
      busiest = std::max(busiest, in_window);
      all += in_window;
    }
    // The first come after 0.9 periods, and those that were added together within one more.
    Require(all > count && all < kPeriods * count, "each key is resynced");
    bench.Note("busiest hundredth of a period", kTimes,
               static_cast<double>(busiest) * kWindows / static_cast<double>(count));
  }});
  bench.Want({.what = "resync: busiest hundredth of a period, against the mean",
              .figure = "busiest hundredth of a period",
              .at_most = true,
              .bound = 1.2});
}

}  // namespace wq::bench
