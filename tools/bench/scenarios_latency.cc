// Scenarios latency and idle: the time of a call at a moderate rate, and the wake-ups of an idle
// queue.

#include <poll.h>

#include <algorithm>
#include <thread>

#include "storage/records.h"
#include "tools/bench/machine.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// --- latency ---

// A rate at which no subject is busy all the time.
size_t CallsASecond(Durability durability) {
  return durability == Durability::kPower ? 500 : 20'000;
}

// For half a second, or two seconds where the rate is low.
size_t Calls(size_t keys, Durability durability) {
  return std::max<size_t>(keys / (durability == Durability::kPower ? 1000 : 100), 1);
}

// Calls call(i) at a fixed rate. A latency is measured from the scheduled instant of the call to
// its return, so it includes the delay by a slow call before it. Spins until each instant, since a
// sleep would end too late.
template <typename Call>
void Pace(Bench& bench, const std::string& subject, size_t calls, size_t calls_a_second,
          Call&& call) {
  const auto interval = std::chrono::nanoseconds(1'000'000'000 / calls_a_second);
  std::vector<double> latencies;
  latencies.reserve(calls);
  auto instant = SteadyClock::now();
  for (size_t i = 0; i < calls; ++i) {
    instant += interval;
    while (SteadyClock::now() < instant) {
    }
    call(i);
    latencies.push_back(
        std::chrono::duration<double, std::micro>(SteadyClock::now() - instant).count());
  }
  std::sort(latencies.begin(), latencies.end());
  const auto at = [&](double part) {
    return latencies[std::min(static_cast<size_t>(part * static_cast<double>(calls)), calls - 1)];
  };
  bench.Note(subject + " p50", kMicroseconds, at(0.5));
  bench.Note(subject + " p99", kMicroseconds, at(0.99));
  bench.Note(subject + " p99.9", kMicroseconds, at(0.999));
  bench.Note(subject + " max", kMicroseconds, latencies.back());
}

// Of kPower: at the other levels an Add makes no write, so the reference is its measure.
void PaceFloor(Bench& bench, const Keys& keys, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Shape shape = PendingShape();
  Floor::Batch batch(floor.get());
  Pace(bench, "floor kPower", keys.size(), CallsASecond(Durability::kPower), [&](size_t i) {
    batch.Put(shape, i >> storage::kSequenceBlockBits, keys[i]);
    batch.Write(true);
  });
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
}

void PaceReference(Bench& bench, const Keys& keys) {
  ReferenceQueue queue;
  Pace(bench, "reference", keys.size(), CallsASecond(Durability::kAsync),
       [&](size_t i) { queue.Add(keys[i]); });
  RequireEqual(queue.Len(), keys.size(), "keys in the reference");
}

void PaceQueue(Bench& bench, const Keys& keys, Durability durability, const std::string& dir) {
  const Subject subject = Subject::Open(dir, {.durability = durability});
  Pace(bench, std::string("wq ") + DurabilityName(durability), keys.size(),
       CallsASecond(durability), [&](size_t i) {
         if (const Status status = subject.queue->Add(keys[i]); !status.ok()) {
           Require(status, "Add");
         }
       });
  RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  if (durability == Durability::kAsync) {
    Require(subject.queue->Flush(), "Flush");
  }
  RequireOnDisk(dir, {.pending = keys.size()}, "Adds at a fixed rate");
}

// The rows of one level at 20 000 Adds a second.
void WantLatencies(Bench& bench, const std::string& level) {
  for (const std::string part : {"p50", "p99", "p99.9", "max"}) {
    Row row = {.what = "latency of Add, " + level + " at 20 000/s, " + part,
               .figure = "wq " + level + " " + part,
               .against = "reference " + part,
               .compared_with = "reference",
               .at_most = true};
    if (part == "p50" || part == "p99") {
      row.bound = 3;
    }
    bench.Want(row);
  }
}

// --- idle ---

// Not a wait for an event: nothing may happen during this time.
void LetTimePass(int milliseconds) { poll(nullptr, 0, milliseconds); }

// How often the threads of this process woke up in that time, without this thread's own wait.
double WakeUpsIn(int milliseconds) {
  LetTimePass(1);  // For threads that are about to wait.
  const size_t before = VoluntarySwitches();
  LetTimePass(milliseconds);
  const size_t after = VoluntarySwitches();
  return after > before + 1 ? static_cast<double>(after - before - 1) : 0;
}

void IdleQueue(Bench& bench, int milliseconds, const std::string& dir) {
  const Subject made = Subject::Open(dir);
  Require(made.store->Close(), "Close");
  const Stopwatch watch;
  const Subject subject = Subject::Open(dir);
  bench.Note("wq opening", kMilliseconds, watch.Seconds() * 1000);
  Require(subject.queue->AddAfter("namespace-17/object-123456", std::chrono::hours(1)), "AddAfter");
  std::thread worker([&] {
    std::string key;
    const Status status = subject.queue->Get(&key);
    Require(status.code() == StatusCode::kShuttingDown, "an idle queue handed out a key");
  });
  LetTimePass(std::max(milliseconds / 10, 1));  // Until the threads of RocksDB and wq wait.
  bench.Note("wq wake-ups", kTimes, WakeUpsIn(milliseconds));
  RequireEqual(subject.queue->Counts().delayed, 1, "delayed keys");
  subject.queue->ShutDown();
  worker.join();
}

void IdleFloor(Bench& bench, int milliseconds, const std::string& dir) {
  Floor::Create(dir);
  const Stopwatch watch;
  const auto floor = Floor::Open(dir);
  bench.Note("floor opening", kMilliseconds, watch.Seconds() * 1000);
  LetTimePass(std::max(milliseconds / 10, 1));
  bench.Note("floor wake-ups", kTimes, WakeUpsIn(milliseconds));
}

}  // namespace

void Latency(Bench& bench) {
  const Settings& settings = bench.settings();
  const Keys keys(Calls(settings.keys, Durability::kAsync), settings.seed);
  const Keys power_keys(Calls(settings.keys, Durability::kPower), settings.seed);
  bench.AlternateTwice({
      [&](const std::string&) { PaceReference(bench, keys); },
      [&](const std::string& dir) { PaceQueue(bench, keys, Durability::kAsync, dir); },
      [&](const std::string& dir) { PaceQueue(bench, keys, Durability::kProcess, dir); },
  });
  bench.Alternate({
      [&](const std::string& dir) { PaceFloor(bench, power_keys, dir); },
      [&](const std::string& dir) { PaceQueue(bench, power_keys, Durability::kPower, dir); },
  });
  WantLatencies(bench, "kAsync");
  WantLatencies(bench, "kProcess");
  for (const std::string part : {"p50", "p99", "p99.9", "max"}) {
    bench.Want({.what = "latency of Add, kPower at 500/s, " + part,
                .figure = "wq kPower " + part,
                .against = "floor kPower " + part,
                .compared_with = "floor",
                .at_most = true});
  }
}

void Idle(Bench& bench) {
  const int milliseconds =
      static_cast<int>(std::clamp<size_t>(bench.settings().keys / 500, 1, 2000));
  bench.Alternate({
      [&](const std::string& dir) { IdleFloor(bench, milliseconds, dir); },
      [&](const std::string& dir) { IdleQueue(bench, milliseconds, dir); },
  });
  bench.Want({.what = "idle: wake-ups in " + std::to_string(milliseconds) + " ms",
              .figure = "wq wake-ups",
              .at_most = true,
              .bound = 0});
  bench.Want({.what = "idle: opening an empty store",
              .figure = "wq opening",
              .at_most = true,
              .bound = 10});
  bench.Want({.what = "idle: opening an empty store",
              .figure = "wq opening",
              .against = "floor opening",
              .at_most = true});
}

}  // namespace wq::bench
