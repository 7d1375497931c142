// Scenario viewers: Adds beside eight threads that read a long queue with many quarantined keys, in
// every way; beside the same Adds alone. How long a reading holds the queue's lock is measured in
// the processor time of its thread, so it does not depend on other load.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/hold_watch.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kReaders = 8;
constexpr size_t kAdders = 2;

// One reading of the kind of the thread.
void ReadOnce(Queue* queue, size_t kind, std::string* page) {
  switch (kind) {
    case 0:
    case 1:
      queue->List();
      break;
    case 2: {
      const std::vector<QuarantinedKey> keys = queue->Quarantined(*page, 1000);
      *page = keys.empty() ? std::string() : keys.back().key;
      break;
    }
    case 3:
    case 4:  // A search, and the groups of errors.
      Require(queue->Scan([](const KeyInfo&) { return true; }), "Scan");
      break;
    case 5: {
      size_t position = 0;
      Require(queue->Inspect("viewed", [](const KeyInfo&) {}), "Inspect");
      static_cast<void>(queue->PositionOf("viewed", &position));
      break;
    }
    case 6:  // As the page's events and the metrics do.
      queue->Counts();
      break;
    default:
      queue->Cursors();
      break;
  }
}

// The time of each Add, of new keys that are removed again.
std::vector<double> TimeAdds(Queue* queue, size_t adds) {
  std::array<std::vector<double>, kAdders> times;
  InThreads(kAdders, [&](size_t thread) {
    const HoldWatch::Unmeasured producer;
    for (size_t i = 0; i < adds / kAdders; ++i) {
      const std::string key = "new-" + std::to_string(thread) + "-" + std::to_string(i % 100);
      const Stopwatch watch;
      Require(queue->Add(key), "Add");
      times[thread].push_back(watch.Seconds() * 1e6);
      Require(queue->Remove(key), "Remove");
    }
  });
  std::vector<double> all;
  for (const std::vector<double>& some : times) {
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

double Percentile99(const std::vector<double>& sorted) { return sorted[sorted.size() * 99 / 100]; }

}  // namespace

void Viewers(Bench& bench) {
  const size_t queued = std::max<size_t>(bench.settings().keys, 100);
  const size_t quarantined = queued * 3 / 10;
  const size_t adds = std::max<size_t>(queued / 5, 1000);
  HoldWatch watch;
  const Subject subject = Subject::Open("", {});
  Queue* const queue = subject.queue;
  AddAll(queue, Keys(queued, bench.settings().seed), Durability::kAsync);
  Require(queue->Add("viewed"), "Add");
  const std::string error(900, 'e');
  for (size_t i = 0; i < quarantined; ++i) {
    Require(queue->Quarantine("bad-" + std::to_string(i), error), "Quarantine");
  }
  bench.Alternate({
      [&](const std::string&) {
        bench.Note("p99 of an Add, alone", kMicroseconds, Percentile99(TimeAdds(queue, adds)));
      },
      [&](const std::string&) {
        watch.Reset();
        std::atomic<bool> stop = false;
        double beside_us = 0;
        InThreads(kReaders + 1, [&](size_t thread) {
          if (thread == kReaders) {
            beside_us = Percentile99(TimeAdds(queue, adds));
            stop = true;
            return;
          }
          std::string page;
          do {
            ReadOnce(queue, thread, &page);
          } while (!stop);
        });
        bench.Note("p99 of an Add, beside readers", kMicroseconds, beside_us);
        bench.Note("longest hold of a reader", kMicroseconds,
                   static_cast<double>(watch.Longest().count()) / 1e3);
      },
  });
  RequireEqual(queue->Counts().quarantined, quarantined, "quarantined keys");
  constexpr double kMostUs = 1000;
  bench.Want({.what = "viewers: longest hold of the lock by a reader",
              .figure = "longest hold of a reader",
              .at_most = true,
              .bound = kMostUs});
  bench.Want({.what = "viewers: p99 of an Add beside eight readers",
              .figure = "p99 of an Add, beside readers",
              .against = "p99 of an Add, alone",
              .compared_with = "alone",
              .at_most = true});
}

}  // namespace wq::bench
