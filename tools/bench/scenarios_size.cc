// Scenarios scale and memory: the time of a call and the memory of a key in large queues.

#include <malloc.h>

#include <algorithm>
#include <array>

#include "storage/records.h"
#include "tools/bench/machine.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

// --- scale ---

// Three subjects, each with `size` keys between the cycles.
class Sized {
 public:
  Sized(size_t size, uint64_t seed, const std::string& dir)
      : size_(size),
        seed_(seed),
        dir_(dir + "-" + std::to_string(size)),
        floor_(Floor::Create(dir_ + "-floor")),
        subject_(Subject::Open(dir_)) {
    const Keys keys(size, seed);
    ChangePending(floor_.get(), keys, FloorChange::kPut, Durability::kAsync);
    AddAll(&reference_, keys);
    AddAll(subject_.queue, keys, Durability::kAsync);
    Require(subject_.queue->Flush(), "Flush");
  }

  size_t size() const { return size_; }

  // Adds, gets and finishes `count` keys, first in, first out. Notes the nanoseconds of a call.
  void Cycle(Bench& bench, size_t count) {
    const Keys keys(count, seed_, next_object_);
    next_object_ += count;
    const std::string name = " at " + std::to_string(size_) + " keys";
    const auto note = [&](const std::string& subject, double seconds, size_t calls_a_key) {
      const size_t calls = count * calls_a_key;
      bench.Note(subject + name, kNanoseconds, seconds * 1e9 / static_cast<double>(calls));
    };
    note("floor", CycleFloor(keys), 2);
    note("reference", CycleReference(keys), 3);
    note("wq", CycleQueue(keys), 3);
  }

  void RequireWhole() const {
    RequireEqual(reference_.Len(), size_, "keys in the reference");
    RequireEqual(subject_.queue->Len(), size_, "keys in the queue");
    RequireOnDisk(dir_, {.pending = size_}, "after the cycles");
  }

 private:
  double CycleFloor(const Keys& keys) {
    const Stopwatch watch;
    ChangePending(floor_.get(), keys, FloorChange::kPut, Durability::kAsync);
    ChangePending(floor_.get(), keys, FloorChange::kErase, Durability::kAsync);
    return watch.Seconds();
  }
  double CycleReference(const Keys& keys) {
    const Stopwatch watch;
    AddAll(&reference_, keys);
    DrainAll(&reference_, keys.size());
    return watch.Seconds();
  }
  double CycleQueue(const Keys& keys) {
    const Stopwatch watch;
    AddAll(subject_.queue, keys, Durability::kAsync);
    DrainAll(subject_.queue, keys.size());
    Require(subject_.queue->Flush(), "Flush");
    return watch.Seconds();
  }

  const size_t size_;
  const uint64_t seed_;
  const std::string dir_;
  size_t next_object_ = size_;
  std::unique_ptr<Floor> floor_;
  ReferenceQueue reference_;
  Subject subject_;
};

// --- memory ---

// The memory of this process: its resident pages, and what it has allocated.
struct Held {
  double resident = static_cast<double>(ResidentBytes());
  double allocated = Allocated();

  static double Allocated() {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
  }
};

// Calls fill(), which returns an object that holds all keys; notes the bytes that it takes for each
// key, beyond the keys' own.
template <typename Fill>
void Weigh(Bench& bench, const std::string& subject, const Keys& keys, Fill&& fill) {
  const Held before;
  const auto filled = fill();
  const Held after;
  const auto count = static_cast<double>(keys.size());
  const auto own = static_cast<double>(keys.bytes());
  bench.Note(subject, kBytes, (after.resident - before.resident - own) / count);
  bench.Note(subject + ", allocated", kBytes, (after.allocated - before.allocated - own) / count);
}

std::unique_ptr<Subject> FilledQueue(const Keys& keys, const std::string& dir) {
  auto subject = std::make_unique<Subject>(Subject::Open(dir));
  AddAll(subject->queue, keys, Durability::kAsync);
  Require(subject->queue->Flush(), "Flush");
  RequireEqual(subject->queue->Len(), keys.size(), "keys in the queue");
  return subject;
}

}  // namespace

void Scale(Bench& bench) {
  const Settings& settings = bench.settings();
  const size_t most = settings.keys * 10;
  std::vector<std::unique_ptr<Sized>> sized;
  std::vector<Bench::Subject> subjects;
  for (const size_t size : {most / 1000, most / 100, most / 10, most}) {
    sized.push_back(std::make_unique<Sized>(size, settings.seed, settings.dir + "/scale"));
    subjects.push_back([&bench, one = sized.back().get()](const std::string&) {
      one->Cycle(bench, std::max<size_t>(bench.settings().keys / 10, 1));
    });
  }
  bench.Alternate(subjects);
  for (const auto& one : sized) {
    one->RequireWhole();
  }
  for (const std::string side : {"wq", "reference", "floor"}) {
    Row row = {.what = "scale: a call at " + std::to_string(most) + " keys, " + side,
               .figure = side + " at " + std::to_string(most) + " keys",
               .against = side + " at " + std::to_string(most / 100) + " keys",
               .compared_with = "at " + std::to_string(most / 100) + " keys",
               .at_most = true};
    if (side == "wq") {
      row.bound = 2.5;
    }
    bench.Want(row);
  }
}

void Memory(Bench& bench) {
  const Keys keys(bench.settings().keys, bench.settings().seed);
  bench.Alternate({
      [&](const std::string&) {
        Weigh(bench, "reference", keys, [&] {
          auto queue = std::make_unique<ReferenceQueue>();
          AddAll(queue.get(), keys);
          RequireEqual(queue->Len(), keys.size(), "keys in the reference");
          return queue;
        });
      },
      [&](const std::string& dir) {
        Weigh(bench, "floor", keys, [&] {
          auto floor = Floor::Create(dir);
          ChangePending(floor.get(), keys, FloorChange::kPut, Durability::kAsync);
          return floor;
        });
      },
      [&](const std::string&) {
        Weigh(bench, "wq in memory", keys, [&] { return FilledQueue(keys, ""); });
      },
      [&](const std::string& dir) {
        Weigh(bench, "wq on disk", keys, [&] { return FilledQueue(keys, dir); });
        RequireOnDisk(dir, {.pending = keys.size()}, "after weighing");
      },
  });
  bench.Want({.what = "memory: a pending key, beyond its own bytes",
              .figure = "wq in memory",
              .at_most = true,
              .bound = 120});
  bench.Want({.what = "memory: a pending key, beyond its own bytes",
              .figure = "wq in memory",
              .against = "reference",
              .at_most = true});
  bench.Want({.what = "memory: the same on disk, with write buffers",
              .figure = "wq on disk",
              .against = "floor",
              .compared_with = "floor: the write buffers alone",
              .at_most = true});
}

}  // namespace wq::bench
