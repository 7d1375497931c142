// Scenarios ack and batch: the cost of calls that wait until they are durable.

#include <algorithm>
#include <vector>

#include "storage/records.h"
#include "tests/bench/scenarios.h"
#include "tests/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kThreads = 16;
constexpr size_t kBatchKeys = 1000;

double AckFloor(const Keys& keys, Durability durability, size_t threads, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Stopwatch watch;
  ChangePending(floor.get(), keys, FloorChange::kPut, durability, threads);
  const double seconds = watch.Seconds();
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
  return Rate(keys.size(), seconds);
}

double AckReference(const Keys& keys, size_t threads) {
  ReferenceQueue queue;
  const Stopwatch watch;
  AddAll(&queue, keys, threads);
  const double seconds = watch.Seconds();
  RequireEqual(queue.Len(), keys.size(), "keys in the reference");
  return Rate(keys.size(), seconds);
}

// Checks the disk without a flush before: what was acknowledged must be there already.
double AckQueue(const Keys& keys, Durability durability, size_t threads, const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  const Stopwatch watch;
  AddAll(subject.queue, keys, durability, threads);
  const double seconds = watch.Seconds();
  RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  RequireOnDisk(dir, {.pending = keys.size()}, "acknowledged Adds");
  return Rate(keys.size(), seconds);
}

// Adds the subjects for one durability and one number of threads; the figures' names have both.
void AddSubjects(Bench& bench, const Keys& keys, Durability durability, size_t threads,
                 std::vector<Bench::Subject>* subjects) {
  const std::string name =
      std::string(" ") + DurabilityName(durability) + " x" + std::to_string(threads);
  subjects->push_back([&bench, &keys, durability, threads, name](const std::string& dir) {
    bench.Note("floor" + name, kPerSecond, AckFloor(keys, durability, threads, dir));
  });
  subjects->push_back([&bench, &keys, threads, name](const std::string&) {
    bench.Note("reference" + name, kPerSecond, AckReference(keys, threads));
  });
  subjects->push_back([&bench, &keys, durability, threads, name](const std::string& dir) {
    bench.Note("wq" + name, kPerSecond, AckQueue(keys, durability, threads, dir));
  });
}

// Enough keys for about a second.
size_t AckKeys(size_t keys, Durability durability, size_t threads) {
  if (durability != Durability::kPower) {
    return std::max<size_t>(keys / 4, 1);
  }
  return std::max<size_t>(keys / (threads == 1 ? 200 : 20), 1);
}

void WantAcks(Bench& bench, Durability durability) {
  if (durability == Durability::kPower) {
    bench.Want({.what = "ack, kPower, 1 thread",
                .figure = "wq kPower x1",
                .against = "floor kPower x1",
                .compared_with = "RocksDB, one sync write each"});
    bench.Want({.what = "ack, kPower, 16 threads",
                .figure = "wq kPower x16",
                .against = "floor kPower x16",
                .compared_with = "RocksDB's sync writes, 16 threads",
                .bound = 1.0});
    return;
  }
  const std::string name = DurabilityName(durability);
  bench.Want({.what = "ack, " + name + ", 1 thread",
              .figure = "wq " + name + " x1",
              .against = "floor " + name + " x1",
              .compared_with = "floor, one put a write",
              .bound = 0.85});
  bench.Want({.what = "ack, " + name + ", 16 threads",
              .figure = "wq " + name + " x16",
              .against = "wq " + name + " x1",
              .compared_with = "wq, 1 thread",
              .bound = 1.0});
  bench.Want({.what = "ack, " + name + ", 16 threads",
              .figure = "wq " + name + " x16",
              .against = "floor " + name + " x16",
              .compared_with = "RocksDB's puts, 16 threads",
              .bound = 1.5});
}

// --- batch ---

double BatchFloor(const Keys& keys, bool sync, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Shape shape = PendingShape();
  Floor::Batch batch(floor.get());
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.Put(shape, i >> storage::kSequenceBlockBits, keys[i]);
    if (batch.count() == kBatchKeys || i + 1 == keys.size()) {
      batch.Write(sync);
    }
  }
  const double seconds = watch.Seconds();
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
  return Rate(keys.size(), seconds);
}

double BatchQueue(const Keys& keys, Durability durability, const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  const AddOptions options{.durability = durability};
  std::vector<std::string_view> batch;
  size_t added = 0;
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.push_back(keys[i]);
    if (batch.size() == kBatchKeys || i + 1 == keys.size()) {
      BatchResult result;
      Require(subject.queue->AddBatch(batch, options, &result), "AddBatch");
      added += result.added;
      batch.clear();
    }
  }
  const double seconds = watch.Seconds();
  RequireEqual(added, keys.size(), "keys that AddBatch added");
  RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  RequireOnDisk(dir, {.pending = keys.size()}, "acknowledged batches");
  return Rate(keys.size(), seconds);
}

}  // namespace

void Ack(Bench& bench) {
  const Settings& settings = bench.settings();
  std::vector<Durability> durabilities = {Durability::kProcess, Durability::kPower};
  if (settings.durability) {
    durabilities = {*settings.durability};
  }
  std::vector<std::unique_ptr<Keys>> keys;
  std::vector<Bench::Subject> subjects;
  for (const Durability durability : durabilities) {
    for (const size_t threads : {size_t{1}, kThreads}) {
      keys.push_back(
          std::make_unique<Keys>(AckKeys(settings.keys, durability, threads), settings.seed));
      AddSubjects(bench, *keys.back(), durability, threads, &subjects);
    }
    WantAcks(bench, durability);
  }
  bench.Alternate(subjects);
}

void Batch(Bench& bench) {
  const Durability durability = bench.settings().durability.value_or(Durability::kPower);
  const Keys keys(bench.settings().keys, bench.settings().seed);
  bench.Alternate({
      [&](const std::string& dir) {
        bench.Note("floor", kPerSecond, BatchFloor(keys, durability == Durability::kPower, dir));
      },
      [&](const std::string&) { bench.Note("reference", kPerSecond, AckReference(keys, 1)); },
      [&](const std::string& dir) {
        bench.Note("wq", kPerSecond, BatchQueue(keys, durability, dir));
      },
  });
  bench.Want({.what = std::string("AddBatch(1000), ") + DurabilityName(durability),
              .figure = "wq",
              .against = "floor",
              .compared_with = "one RocksDB write of 1000 puts",
              .bound = 0.8});
}

}  // namespace wq::bench
