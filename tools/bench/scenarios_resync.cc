// Scenario resync: all keys are reconciled once, and again in each period. The clock is the
// scenario's, so that periods of an hour take what the work takes.
// Scenario sources: observations beside Adds, and the list of a restarted controller.

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/hold_watch.h"
#include "tools/bench/machine.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"
#include "wq/clock.h"
#include "wq/source.h"

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

// As a uid and a resourceVersion of Kubernetes.
std::string VersionOf(size_t object, size_t change) {
  char text[64];
  std::snprintf(text, sizeof text, "%08zx-9d4c-4b1e-8f3a-%012zx/%08zu", object * 2654435761U,
                object * 0x9E3779B97F4AU & 0xFFFFFFFFFFFFU, 10'000'000 + change);
  return text;
}

std::vector<std::string> VersionsOf(const Keys& objects, size_t change) {
  std::vector<std::string> versions;
  for (size_t i = 0; i < objects.size(); ++i) {
    versions.push_back(VersionOf(i, change));
  }
  return versions;
}

// Observes each object once, which maps to itself; returns the seconds.
template <typename To>
double ObserveAll(To* to, const Keys& objects, const std::vector<std::string>& versions,
                  bool changed) {
  const Stopwatch watch;
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::string_view object = objects[i];
    ObserveResult result;
    const Status status =
        to->Observe({.object = object, .version = versions[i], .keys = {&object, 1}}, {}, &result);
    if (!status.ok() || result.changed != changed) {
      Require(status, "Observe");
      Require(false, "an observation is as changed as its object");
    }
  }
  return watch.Seconds();
}

// Until the process uses less than a fiftieth of a processor: what a phase has left to RocksDB's
// threads is not to slow the next one.
void AwaitIdle() {
  for (std::clock_t used = -CLOCKS_PER_SEC; std::clock() - used > CLOCKS_PER_SEC / 500;) {
    used = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

double BytesIn(const std::string& dir) {
  uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir)) {
    bytes += file.is_regular_file() && file.path().extension() == ".sst" ? file.file_size() : 0;
  }
  return static_cast<double>(bytes);
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

void Sources(Bench& bench) {
  const Keys objects(bench.settings().keys, bench.settings().seed);
  const auto count = static_cast<double>(objects.size());
  const std::vector<std::string> first = VersionsOf(objects, 0);
  const std::vector<std::string> second = VersionsOf(objects, 1);
  bench.Alternate({[&](const std::string& dir) {
    Subject subject = Subject::Open(dir);
    Stopwatch watch;
    AddAll(subject.queue, objects, Durability::kProcess);
    bench.Note("Add", kPerSecond, Rate(objects.size(), watch.Seconds()));
    DrainAll(subject.queue, objects.size());
    Source source;
    Require(subject.queue->OpenSource("objects", &source), "OpenSource");
    ObserveAll(&source, objects, first, true);
    DrainAll(subject.queue, objects.size());
    AwaitIdle();
    const double changed = ObserveAll(&source, objects, second, true);
    bench.Note("Observe, changed", kPerSecond, Rate(objects.size(), changed));
    DrainAll(subject.queue, objects.size());
    AwaitIdle();
    const double unchanged = ObserveAll(&source, objects, second, false);
    bench.Note("Observe, unchanged", kPerSecond, Rate(objects.size(), unchanged));
    Require(subject.store->Close(), "Close");
    subject = {};
    bench.Note("bytes an object on disk", kBytes, BytesIn(dir) / count);

    HoldWatch holds;  // Of the queue that is opened next.
    malloc_trim(0);
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    subject = Subject::Open(dir);
    const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    bench.Note("bytes an object in memory", kBytes, static_cast<double>(after - before) / count);
    Require(subject.queue->OpenSource("objects", &source), "OpenSource");
    holds.Reset();
    BeginPeak();
    const size_t resident = ResidentBytes();
    std::unique_ptr<SourceList> list;
    Require(source.BeginList({}, &list), "BeginList");
    double seconds = ObserveAll(list.get(), objects, second, false);
    watch = Stopwatch();
    Require(list->End(), "End");
    seconds += watch.Seconds();
    bench.Note("list, unchanged", kSeconds, seconds);
    bench.Note("memory of a list", kBytes,
               static_cast<double>(PeakResidentBytes()) - static_cast<double>(resident));
    bench.Note("longest hold of a lock in a list", kMicroseconds,
               std::chrono::duration<double, std::micro>(holds.Longest()).count());
    RequireEqual(subject.queue->Len(), 0, "keys after a list without changes");
  }});
  bench.Want({.what = "Observe of a changed object, beside Add",
              .figure = "Observe, changed",
              .against = "Add",
              .bound = 1 / 1.8});
  bench.Want({.what = "Observe of an unchanged object, beside Add",
              .figure = "Observe, unchanged",
              .against = "Add",
              .bound = 1.0});
  bench.Want({.what = "list of unchanged objects",
              .figure = "list, unchanged",
              .at_most = true,
              .bound = 4e-6 * count});
  bench.Want({.what = "memory of a list of unchanged objects",
              .figure = "memory of a list",
              .at_most = true,
              .bound = 64 << 20});
  bench.Want({.what = "longest hold of a lock in a list",
              .figure = "longest hold of a lock in a list",
              .at_most = true,
              .bound = 1000});
  bench.Want({.what = "memory of an object",
              .figure = "bytes an object in memory",
              .at_most = true,
              .bound = 64});
  bench.Want({.what = "an object on disk",
              .figure = "bytes an object on disk",
              .at_most = true,
              .bound = 120});
}

}  // namespace wq::bench
