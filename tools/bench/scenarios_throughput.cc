// Scenarios fill, drain and mix: the throughput of a queue whose calls do not wait for the disk.

#include <atomic>
#include <random>
#include <vector>

#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

// The keys of a round, and its numbers of threads.
struct Load {
  explicit Load(const Settings& settings)
      : keys(settings.keys, settings.seed),
        producers(settings.producers.value_or(1)),
        consumers(settings.consumers.value_or(1)) {}
  const Keys keys;
  const size_t producers;
  const size_t consumers;
};

// The levels that a scenario measures.
std::vector<Durability> Levels(const Settings& settings) {
  if (settings.durability) {
    return {*settings.durability};
  }
  return {Durability::kAsync, Durability::kProcess};
}

double FillFloor(const Load& load, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Stopwatch watch;
  ChangePending(floor.get(), load.keys, FloorChange::kPut, Durability::kAsync, load.producers);
  const double seconds = watch.Seconds();
  RequireEqual(floor->CountRecords(), load.keys.size(), "records of the floor");
  return Rate(load.keys.size(), seconds);
}

double FillReference(const Load& load) {
  ReferenceQueue queue;
  const Stopwatch watch;
  AddAll(&queue, load.keys, load.producers);
  const double seconds = watch.Seconds();
  RequireEqual(queue.Len(), load.keys.size(), "keys in the reference");
  return Rate(load.keys.size(), seconds);
}

// In memory if `dir` is empty.
double FillQueue(const Load& load, Durability durability, const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  const Stopwatch watch;
  AddAll(subject.queue, load.keys, durability, load.producers);
  Require(subject.queue->Flush(), "Flush");
  const double seconds = watch.Seconds();
  RequireEqual(subject.queue->Len(), load.keys.size(), "keys in the queue");
  if (!dir.empty()) {
    RequireOnDisk(dir, {.pending = load.keys.size()}, "after the fill");
  }
  return Rate(load.keys.size(), seconds);
}

double DrainFloor(const Load& load, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  ChangePending(floor.get(), load.keys, FloorChange::kPut, Durability::kAsync);
  const Stopwatch watch;
  ChangePending(floor.get(), load.keys, FloorChange::kErase, Durability::kAsync, load.consumers);
  const double seconds = watch.Seconds();
  RequireEqual(floor->CountRecords(), 0, "records of the floor");
  return Rate(load.keys.size(), seconds);
}

double DrainReference(const Load& load) {
  ReferenceQueue queue;
  AddAll(&queue, load.keys);
  const Stopwatch watch;
  DrainAll(&queue, load.keys.size(), load.consumers);
  const double seconds = watch.Seconds();
  RequireEqual(queue.Len(), 0, "keys in the reference");
  return Rate(load.keys.size(), seconds);
}

double DrainQueue(const Load& load, const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  AddAll(subject.queue, load.keys, Durability::kAsync);
  Require(subject.queue->Flush(), "Flush");
  const Stopwatch watch;
  DrainAll(subject.queue, load.keys.size(), load.consumers);
  Require(subject.queue->Flush(), "Flush");
  const double seconds = watch.Seconds();
  const QueueCounts counts = subject.queue->Counts();
  RequireEqual(counts.queued + counts.processing, 0, "keys in the queue");
  if (!dir.empty()) {
    RequireOnDisk(dir, {}, "after the drain");
  }
  return Rate(load.keys.size(), seconds);
}

// --- mix ---

constexpr size_t kHotKeys = 10'000;

struct MixSize {
  size_t producers;
  size_t consumers;
};

// The calls of all threads of a mix.
struct Traffic {
  std::atomic<size_t> calls = 0;  // Add, Get and Done.
  // Adds that made a key dirty. Set for the reference only, since wq counts them itself.
  std::atomic<size_t> added = 0;
  std::atomic<size_t> hand_outs = 0;
};

// Calls add(key) with `count` random keys, and counts those for which it returns true.
template <typename Add>
void Produce(const Keys& keys, uint64_t seed, size_t count, Traffic* traffic, Add&& add) {
  std::minstd_rand random(static_cast<uint32_t>(seed));
  size_t added = 0;
  for (size_t i = 0; i < count; ++i) {
    added += add(keys[random() % keys.size()]) ? 1 : 0;
  }
  traffic->calls += count;
  traffic->added += added;
}

// Calls get_and_done() until it returns false.
template <typename GetAndDone>
void Consume(Traffic* traffic, GetAndDone&& get_and_done) {
  size_t hand_outs = 0;
  while (get_and_done()) {
    ++hand_outs;
  }
  traffic->calls += 2 * hand_outs;
  traffic->hand_outs += hand_outs;
}

// Runs produce(thread) and consume() in parallel, and shut_down() after the last Add. Returns
// seconds.
double RunMix(const MixSize& size, const std::function<void(size_t)>& produce,
              const std::function<void()>& consume, const std::function<void()>& shut_down) {
  std::atomic<size_t> producing = size.producers;
  const Stopwatch watch;
  InThreads(size.producers + size.consumers, [&](size_t thread) {
    if (thread >= size.producers) {
      consume();
      return;
    }
    produce(thread);
    if (--producing == 0) {
      shut_down();
    }
  });
  return watch.Seconds();
}

// A put and an erase of a hot key count as an Add, a Get and a Done.
double MixFloor(const Load& load, const Keys& hot, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Shape shape = PendingShape();
  Floor::Batch batch(floor.get());
  std::minstd_rand random(1);
  const size_t pairs = std::max<size_t>(load.keys.size() / 2, 1);
  const Stopwatch watch;
  for (size_t i = 0; i < pairs; ++i) {
    const std::string_view key = hot[random() % hot.size()];
    batch.Put(shape, 0, key);
    batch.Erase(shape, 0, key);
    if (batch.count() >= kFloorBatch) {
      batch.Write(false);
    }
  }
  batch.Write(false);
  floor->Sync();
  const double seconds = watch.Seconds();
  RequireEqual(floor->CountRecords(), 0, "records of the floor");
  return Rate(3 * pairs, seconds);
}

double MixReference(const Load& load, const Keys& hot, const MixSize& size) {
  ReferenceQueue queue;
  Traffic traffic;
  const double seconds = RunMix(
      size,
      [&](size_t thread) {
        Produce(hot, thread + 1, load.keys.size() / size.producers, &traffic,
                [&](std::string_view key) { return queue.Add(key); });
      },
      [&] {
        std::string key;
        Consume(&traffic, [&] {
          const bool more = queue.Get(&key);
          if (more) {
            queue.Done(key);
          }
          return more;
        });
      },
      [&] { queue.ShutDown(); });
  RequireEqual(traffic.hand_outs, traffic.added, "hand-outs of the reference");
  RequireEqual(queue.Len(), 0, "keys in the reference");
  return Rate(traffic.calls, seconds);
}

double MixQueue(const Load& load, const Keys& hot, const MixSize& size, Durability durability,
                const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  Queue* const queue = subject.queue;
  const AddOptions options{.durability = durability};
  Traffic traffic;
  const Stopwatch watch;
  RunMix(
      size,
      [&](size_t thread) {
        Produce(hot, thread + 1, load.keys.size() / size.producers, &traffic,
                [&](std::string_view key) {
                  Require(queue->Add(key, options),
                          "Add");  // Without its outcome, as in client-go.
                  return false;
                });
      },
      [&] {
        std::string key;
        Consume(&traffic, [&] {
          const Status status = queue->Get(&key);
          if (status.ok()) {
            Require(queue->Done(key), "Done");
          }
          return status.ok();
        });
      },
      [&] { queue->ShutDown(); });
  Require(queue->Flush(), "Flush");
  const double seconds = watch.Seconds();
  const QueueCounts counts = queue->Counts();
  RequireEqual(traffic.hand_outs, counts.adds, "hand-outs");
  RequireEqual(counts.queued, 0, "keys in the queue");
  RequireOnDisk(dir, {}, "after the mix");
  return Rate(traffic.calls, seconds);
}

// Adds the subjects and rows for one number of threads.
void AddMix(Bench& bench, const Load& load, const Keys& hot, const MixSize& size,
            std::vector<Bench::Subject>* subjects) {
  const std::string threads = std::to_string(size.producers) + "+" + std::to_string(size.consumers);
  subjects->push_back([&bench, &load, &hot, size, threads](const std::string&) {
    bench.Note("reference " + threads, kPerSecond, MixReference(load, hot, size));
  });
  for (const Durability level : Levels(bench.settings())) {
    const std::string name = std::string(DurabilityName(level)) + " " + threads;
    subjects->push_back([&bench, &load, &hot, size, level, name](const std::string& dir) {
      bench.Note("wq " + name, kPerSecond, MixQueue(load, hot, size, level, dir));
    });
    bench.Want({.what = std::string("mix, ") + DurabilityName(level) + ", " + threads + " threads",
                .figure = "wq " + name,
                .against = "reference " + threads,
                .compared_with = "reference",
                .bound = 1.2});
  }
}

}  // namespace

void Fill(Bench& bench) {
  const Load load(bench.settings());
  const std::vector<Durability> levels = Levels(bench.settings());
  std::vector<Bench::Subject> subjects = {
      [&](const std::string& dir) { bench.Note("floor", kPerSecond, FillFloor(load, dir)); },
      [&](const std::string&) { bench.Note("reference", kPerSecond, FillReference(load)); },
      [&](const std::string&) {
        bench.Note("wq in memory", kPerSecond, FillQueue(load, Durability::kAsync, ""));
      }};
  for (const Durability level : levels) {
    subjects.emplace_back([&, level](const std::string& dir) {
      bench.Note(std::string("wq ") + DurabilityName(level), kPerSecond,
                 FillQueue(load, level, dir));
    });
  }
  bench.AlternateTwice(subjects);
  bench.Want(
      {.what = "fill, in memory", .figure = "wq in memory", .against = "reference", .bound = 1.6});
  for (const Durability level : levels) {
    const std::string name = DurabilityName(level);
    const std::string what = "fill + Flush, " + name;
    if (level == Durability::kAsync) {
      bench.Want({.what = what, .figure = "wq kAsync", .against = "floor", .bound = 0.6});
    } else if (levels.size() > 1) {
      bench.Want({.what = what, .figure = "wq " + name, .against = "wq kAsync", .bound = 0.9});
    }
    bench.Want({.what = what, .figure = "wq " + name, .against = "reference", .bound = 1.2});
  }
}

void Drain(Bench& bench) {
  const Load load(bench.settings());
  bench.Alternate({
      [&](const std::string& dir) { bench.Note("floor", kPerSecond, DrainFloor(load, dir)); },
      [&](const std::string&) { bench.Note("reference", kPerSecond, DrainReference(load)); },
      [&](const std::string& dir) { bench.Note("wq", kPerSecond, DrainQueue(load, dir)); },
      [&](const std::string&) { bench.Note("wq in memory", kPerSecond, DrainQueue(load, "")); },
  });
  bench.Want(
      {.what = "drain, in memory", .figure = "wq in memory", .against = "reference", .bound = 2.5});
  bench.Want(
      {.what = "drain + Flush, kAsync", .figure = "wq", .against = "reference", .bound = 1.4});
  bench.Want({.what = "drain + Flush, kAsync", .figure = "wq", .against = "floor"});
}

void Mix(Bench& bench) {
  const Load load(bench.settings());
  const Keys hot(std::min(kHotKeys, load.keys.size()), bench.settings().seed);
  std::vector<MixSize> sizes = {{1, 1}, {4, 4}};
  if (bench.settings().producers || bench.settings().consumers) {
    sizes = {{load.producers, load.consumers}};
  }
  std::vector<Bench::Subject> subjects = {
      [&](const std::string& dir) { bench.Note("floor", kPerSecond, MixFloor(load, hot, dir)); }};
  for (const MixSize& size : sizes) {
    AddMix(bench, load, hot, size, &subjects);
  }
  bench.AlternateTwice(subjects);
  bench.Want({.what = bench.rows().front().what,
              .figure = bench.rows().front().figure,
              .against = "floor"});
}

}  // namespace wq::bench
