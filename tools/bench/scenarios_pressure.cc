// Scenario pressure: producers that are faster than the disk, with large keys; and producers beside
// the deletion of a large queue.

#include <algorithm>
#include <atomic>
#include <thread>

#include "storage/records.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kLargeKeyBytes = 4096;
constexpr size_t kLargeThreads = 8;
constexpr size_t kProducers = 4;

// The key of this number, kLargeKeyBytes long.
std::string LargeKey(size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kLargeKeyBytes - digits.size(), 'k') + digits;
}

// The durations of calls, in milliseconds; each thread has its own.
class Latencies {
 public:
  explicit Latencies(size_t threads) : of_threads_(threads) {}

  template <typename Call>
  void Measure(size_t thread, const Call& call) {
    const Stopwatch watch;
    call();
    of_threads_[thread].push_back(1000 * watch.Seconds());
  }
  // Notes the percentiles of all calls.
  void Note(Bench& bench, const std::string& subject) {
    std::vector<double> all;
    for (const std::vector<double>& one : of_threads_) {
      all.insert(all.end(), one.begin(), one.end());
    }
    std::sort(all.begin(), all.end());
    Require(!all.empty(), "no call was measured");
    const auto at = [&](double part) {
      return all[std::min(static_cast<size_t>(part * static_cast<double>(all.size())),
                          all.size() - 1)];
    };
    bench.Note(subject + " p99", kMilliseconds, at(0.99));
    bench.Note(subject + " p99.9", kMilliseconds, at(0.999));
    bench.Note(subject + " max", kMilliseconds, all.back());
  }

 private:
  std::vector<std::vector<double>> of_threads_;
};

// --- Large keys ---

size_t LargeKeys(const Settings& settings) { return std::max<size_t>(settings.keys / 20, 1); }

void LargeFloor(Bench& bench, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const size_t count = LargeKeys(bench.settings());
  Latencies latencies(kLargeThreads);
  const Stopwatch watch;
  InThreads(kLargeThreads, [&](size_t thread) {
    const auto [begin, end] = Slice(count, kLargeThreads, thread);
    const Shape shape = PendingShape();
    Floor::Batch batch(floor.get());
    for (size_t i = begin; i < end; ++i) {
      latencies.Measure(thread, [&] {
        batch.Put(shape, i >> storage::kSequenceBlockBits, LargeKey(i));
        batch.Write(false);
      });
    }
  });
  bench.Note("floor large", kPerSecond, Rate(count, watch.Seconds()));
  latencies.Note(bench, "floor large");
  RequireEqual(floor->CountRecords(), count, "records of the floor");
}

void LargeQueue(Bench& bench, const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  const size_t count = LargeKeys(bench.settings());
  Latencies latencies(kLargeThreads);
  const Stopwatch watch;
  InThreads(kLargeThreads, [&](size_t thread) {
    const auto [begin, end] = Slice(count, kLargeThreads, thread);
    for (size_t i = begin; i < end; ++i) {
      latencies.Measure(thread, [&] { Require(subject.queue->Add(LargeKey(i)), "Add"); });
    }
  });
  bench.Note("wq large", kPerSecond, Rate(count, watch.Seconds()));
  latencies.Note(bench, "wq large");
  Require(subject.store->Flush(Durability::kProcess), "Flush");
  RequireOnDisk(dir, {.pending = count}, "Adds of large keys");
}

// --- A deletion ---

void DeleteBesideProducers(Bench& bench, const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  Queue* large = nullptr;
  Require(subject.store->OpenQueue("large", {}, &large), "opening the queue");
  const Keys keys(bench.settings().keys, bench.settings().seed);
  AddAll(large, keys, Durability::kAsync);
  Require(subject.store->CloseQueue(large), "CloseQueue");
  std::atomic<bool> deleted = false;
  Latencies latencies(kProducers);
  std::thread deleting([&] {
    const Stopwatch watch;
    Require(subject.store->DeleteQueue("large"), "DeleteQueue");
    bench.Note("wq deletion", kSeconds, watch.Seconds());
    deleted = true;
  });
  // Each producer adds a key and takes one, so the queue stays small.
  InThreads(kProducers, [&](size_t thread) {
    std::vector<HeldKey> held;
    for (size_t i = 0; i == 0 || !deleted; ++i) {
      const std::string key = std::to_string(thread) + "/" + std::to_string(i % 10'000);
      latencies.Measure(thread, [&] { Require(subject.queue->Add(key), "Add"); });
      held.clear();
      if (subject.queue->TryGet(1, &held).ok()) {
        Require(subject.queue->Done(held[0].key), "Done");
      }
    }
  });
  deleting.join();
  latencies.Note(bench, "wq beside a deletion");
  RequireEqual(subject.store->QueueNames().size(), 1, "queues after the deletion");
}

}  // namespace

void Pressure(Bench& bench) {
  bench.Alternate({
      [&](const std::string& dir) { LargeFloor(bench, dir); },
      [&](const std::string& dir) { LargeQueue(bench, dir); },
      [&](const std::string& dir) { DeleteBesideProducers(bench, dir); },
  });
  bench.Want({.what = "pressure: Adds of 4 KiB keys, kProcess, 8 threads",
              .figure = "wq large",
              .against = "floor large",
              .compared_with = "RocksDB's puts, 8 threads",
              .bound = 1.0});
  bench.Want({.what = "pressure: Adds of 4 KiB keys, p99.9",
              .figure = "wq large p99.9",
              .at_most = true,
              .bound = 50});
  bench.Want({.what = "pressure: Add beside the deletion of " +
                      std::to_string(bench.settings().keys) + " keys, 4 threads, p99",
              .figure = "wq beside a deletion p99",
              .at_most = true,
              .bound = 10});
}

}  // namespace wq::bench
