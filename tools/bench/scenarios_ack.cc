// Scenarios ack and batch: the cost of calls that wait until they are durable.
//
// A subject of ack is measured in a process of its own, which ends by SIGKILL after its last call.
// Then this process opens what is left, and counts: it must find every acknowledged call.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "storage/records.h"
#include "tools/bench/process.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kThreads = 16;
constexpr size_t kBatchKeys = 1000;

struct AckLoad {
  Durability durability;
  size_t threads;

  std::string Name() const {
    return std::string(DurabilityName(durability)) + " x" + std::to_string(threads);
  }
};

// Enough keys for about a second of the floor.
size_t AckKeys(size_t keys, const AckLoad& load) {
  if (load.durability != Durability::kPower) {
    return std::max<size_t>(keys / 5, 1);
  }
  return std::max<size_t>(keys / (load.threads == 1 ? 400 : 20), 1);
}

// The load that RunChild passed to this process.
AckLoad LoadOfChild(const Settings& settings) {
  Require(settings.durability.has_value() && settings.producers.has_value(),
          "the process of a subject was started without its load");
  return {.durability = *settings.durability, .threads = *settings.producers};
}

// Prints the time, and kills this process.
[[noreturn]] void EndKilled(double seconds) {
  std::printf("%.9f\n", seconds);
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
  for (;;) {
    pause();
  }
}

// Runs the scenario `subject` in a process of its own. Returns its calls a second.
double RunKilled(const Settings& settings, const std::string& subject, const AckLoad& load,
                 const std::string& dir) {
  Child child(settings.program,
              {"--here", "--scenario", subject, "--dir", dir, "--keys",
               std::to_string(settings.keys), "--seed", std::to_string(settings.seed),
               "--durability", load.durability == Durability::kPower ? "power" : "process",
               "--producers", std::to_string(load.threads)});
  const std::string seconds = child.ReadLine();
  RequireEqual(static_cast<size_t>(child.Wait()), 128 + SIGKILL, "the end of " + subject);
  return Rate(AckKeys(settings.keys, load), std::strtod(seconds.c_str(), nullptr));
}

double AckFloor(const Settings& settings, const AckLoad& load, const std::string& dir) {
  const double rate = RunKilled(settings, "ack-floor-child", load, dir);
  RequireEqual(Floor::Open(dir)->CountRecords(), AckKeys(settings.keys, load),
               "records of the floor after SIGKILL");
  return rate;
}

double AckReference(const Keys& keys, size_t threads) {
  ReferenceQueue queue;
  const Stopwatch watch;
  AddAll(&queue, keys, threads);
  const double seconds = watch.Seconds();
  RequireEqual(queue.Len(), keys.size(), "keys in the reference");
  return Rate(keys.size(), seconds);
}

// A reader and the next owner must find every Add.
void RequireAcknowledged(const std::string& dir, size_t acknowledged) {
  RequireOnDisk(dir, {.pending = acknowledged}, "acknowledged Adds after SIGKILL");
  const Subject subject = Subject::Open(dir);
  RequireEqual(subject.queue->Len(), acknowledged, "keys in the queue after SIGKILL");
}

double AckQueue(const Settings& settings, const AckLoad& load, const std::string& dir) {
  const double rate = RunKilled(settings, "ack-wq-child", load, dir);
  RequireAcknowledged(dir, AckKeys(settings.keys, load));
  return rate;
}

// The subjects for one load; the names of the figures have it. The reference is for kProcess only.
std::vector<Bench::Subject> AckSubjects(Bench& bench, const AckLoad& load) {
  std::vector<Bench::Subject> subjects = {
      [&bench, load](const std::string& dir) {
        bench.Note("floor " + load.Name(), kPerSecond, AckFloor(bench.settings(), load, dir));
      },
      [&bench, load](const std::string& dir) {
        bench.Note("wq " + load.Name(), kPerSecond, AckQueue(bench.settings(), load, dir));
      }};
  if (load.durability == Durability::kProcess) {
    subjects.emplace_back([&bench, load](const std::string&) {
      const Settings& settings = bench.settings();
      const Keys keys(AckKeys(settings.keys, load), settings.seed);
      bench.Note("reference " + load.Name(), kPerSecond, AckReference(keys, load.threads));
    });
  }
  return subjects;
}

// A row of the table for kProcess or kPower.
void WantAck(Bench& bench, const AckLoad& load, const std::string& side,
             const std::string& compared_with, std::optional<double> bound) {
  bench.Want({.what = std::string("ack, ") + DurabilityName(load.durability) + ", " +
                      std::to_string(load.threads) + (load.threads == 1 ? " thread" : " threads"),
              .figure = "wq " + load.Name(),
              .against = side + " " + load.Name(),
              .compared_with = compared_with,
              .bound = bound});
}

void WantAcks(Bench& bench, Durability durability) {
  const AckLoad alone = {.durability = durability, .threads = 1};
  const AckLoad many = {.durability = durability, .threads = kThreads};
  if (durability == Durability::kPower) {
    WantAck(bench, alone, "floor", "RocksDB, one sync write each", {});
    WantAck(bench, many, "floor", "RocksDB's sync writes, 16 threads", 1.0);
    return;
  }
  WantAck(bench, alone, "floor", "RocksDB, one put a write", 4.0);
  WantAck(bench, many, "floor", "RocksDB's puts, 16 threads", 3.0);
  WantAck(bench, alone, "reference", "reference", {});
  WantAck(bench, many, "reference", "reference", {});
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

void AckFloorChild(Bench& bench) {
  const Settings& settings = bench.settings();
  const AckLoad load = LoadOfChild(settings);
  const Keys keys(AckKeys(settings.keys, load), settings.seed);
  const auto floor = Floor::Create(settings.dir);
  const Stopwatch watch;
  ChangePending(floor.get(), keys, FloorChange::kPut, load.durability, load.threads);
  EndKilled(watch.Seconds());
}

void AckQueueChild(Bench& bench) {
  const Settings& settings = bench.settings();
  const AckLoad load = LoadOfChild(settings);
  const Keys keys(AckKeys(settings.keys, load), settings.seed);
  const Subject subject = Subject::Open(settings.dir);
  const Stopwatch watch;
  AddAll(subject.queue, keys, load.durability, load.threads);
  EndKilled(watch.Seconds());
}

// For a test: acknowledged Adds whose files are lost must be noticed.
void AckLost(Bench& bench) {
  const Settings& settings = bench.settings();
  const AckLoad load = {.durability = Durability::kProcess, .threads = 1};
  const std::string dir = settings.dir + "/lost";
  RunKilled(settings, "ack-wq-child", load, dir);
  const std::vector<std::filesystem::directory_entry> files(
      std::filesystem::directory_iterator(dir), {});
  for (const std::filesystem::directory_entry& file : files) {
    if (file.path().extension() == ".log" || file.path().extension() == ".ring") {
      std::filesystem::remove(file.path());
    }
  }
  RequireAcknowledged(dir, AckKeys(settings.keys, load));
}

void Ack(Bench& bench) {
  const std::optional<Durability> only = bench.settings().durability;
  Require(only != Durability::kAsync, "ack: an Add at async is not acknowledged");
  for (const Durability durability : {Durability::kProcess, Durability::kPower}) {
    if (only.value_or(durability) != durability) {
      continue;
    }
    std::vector<Bench::Subject> subjects;
    for (const size_t threads : {size_t{1}, kThreads}) {
      for (Bench::Subject& subject :
           AckSubjects(bench, {.durability = durability, .threads = threads})) {
        subjects.push_back(std::move(subject));
      }
    }
    if (durability == Durability::kProcess) {
      bench.AlternateTwice(subjects);
    } else {
      bench.Alternate(subjects);  // Each of its rounds takes seconds.
    }
    WantAcks(bench, durability);
  }
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
