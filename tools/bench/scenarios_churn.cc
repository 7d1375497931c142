// Scenario churn: many lives of the same keys. The speed beside the floor's and the reference's, in
// short rounds; then a long course, in which the speed, and the sizes of store and memory, must not
// change.

#include <algorithm>
#include <filesystem>

#include "storage/records.h"
#include "tools/bench/machine.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kChurnKeys = 10'000;
constexpr size_t kWindows = 40;
constexpr size_t kSamplesInWindow = 10;
constexpr size_t kFloorPairs = 64;  // Pairs of a put and an erase in one write.

constexpr size_t kHistoryBytes = size_t{64} << 20;
constexpr double kMebibyte = 1 << 20;

// Lives before the first measured one, in a round.
size_t WarmUp(size_t lives) { return lives / 4; }

// Times `count` lives of a key: Get, Done, and the next Add, so that the queue's length is
// constant.
template <typename Live>
double TimeLives(size_t count, Live&& live) {
  const Stopwatch watch;
  for (size_t i = 0; i < count; ++i) {
    live();
  }
  return watch.Seconds();
}

void LiveOnce(Queue* queue, std::string* key) {
  Status status = queue->Get(key);
  if (status.ok()) {
    status = queue->Done(*key);
  }
  if (status.ok()) {
    status = queue->Add(*key);
  }
  if (!status.ok()) {
    Require(status, "Get, Done and Add");
  }
}

// --- rounds ---

double ChurnFloor(const Keys& keys, size_t lives, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  ChangePending(floor.get(), keys, FloorChange::kPut, Durability::kAsync);
  const Shape shape = PendingShape();
  Floor::Batch batch(floor.get());
  size_t at = 0;
  const auto live = [&] {
    const uint64_t block = at >> storage::kSequenceBlockBits;
    batch.Erase(shape, block, keys[at]);
    batch.Put(shape, block, keys[at]);
    at = (at + 1) % keys.size();
    if (batch.count() >= 2 * kFloorPairs) {
      batch.Write(false);
    }
  };
  TimeLives(WarmUp(lives), live);
  const Stopwatch watch;
  TimeLives(lives, live);
  batch.Write(false);
  floor->Sync();
  const double seconds = watch.Seconds();
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
  return Rate(lives, seconds);
}

double ChurnReference(const Keys& keys, size_t lives) {
  ReferenceQueue queue;
  AddAll(&queue, keys);
  std::string key;
  const auto live = [&] {
    Require(queue.Get(&key), "the reference ended");
    queue.Done(key);
    queue.Add(key);
  };
  TimeLives(WarmUp(lives), live);
  const double seconds = TimeLives(lives, live);
  RequireEqual(queue.Len(), keys.size(), "keys in the reference");
  return Rate(lives, seconds);
}

// In memory if `dir` is empty.
double ChurnQueue(const Keys& keys, size_t lives, Durability durability, const std::string& dir,
                  size_t history_bytes = 0) {
  const Subject subject = Subject::Open(dir, {.durability = durability}, nullptr, history_bytes);
  AddAll(subject.queue, keys, durability);
  std::string key;
  const auto live = [&] { LiveOnce(subject.queue, &key); };
  TimeLives(WarmUp(lives), live);
  const Stopwatch watch;
  TimeLives(lives, live);
  Require(subject.queue->Flush(), "Flush");
  const double seconds = watch.Seconds();
  RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  if (!dir.empty()) {
    RequireOnDisk(dir, {.pending = keys.size()}, "after a round of churn");
  }
  return Rate(lives, seconds);
}

void ChurnRounds(Bench& bench, const Keys& keys, size_t lives) {
  bench.AlternateTwice({
      [&](const std::string& dir) {
        bench.Note("floor", kPerSecond, ChurnFloor(keys, lives, dir));
      },
      [&](const std::string&) { bench.Note("reference", kPerSecond, ChurnReference(keys, lives)); },
      [&](const std::string&) {
        bench.Note("wq in memory", kPerSecond, ChurnQueue(keys, lives, Durability::kAsync, ""));
      },
      [&](const std::string& dir) {
        bench.Note("wq kAsync", kPerSecond, ChurnQueue(keys, lives, Durability::kAsync, dir));
      },
      [&](const std::string& dir) {
        bench.Note("wq kProcess", kPerSecond, ChurnQueue(keys, lives, Durability::kProcess, dir));
      },
      [&](const std::string& dir) {
        bench.Note("wq kProcess, with history", kPerSecond,
                   ChurnQueue(keys, lives, Durability::kProcess, dir, kHistoryBytes));
      },
  });
  const auto want = [&bench](const std::string& what, const std::string& figure, double bound) {
    bench.Want({.what = what, .figure = figure, .against = "reference", .bound = bound});
  };
  want("churn, in memory", "wq in memory", 1.0);
  want("churn + Flush, kAsync", "wq kAsync", 0.7);
  want("churn + Flush, kProcess", "wq kProcess", 0.6);
  bench.Want({.what = "churn + Flush, kProcess", .figure = "wq kProcess", .against = "floor"});
  bench.Want({.what = "churn + Flush, kProcess, with history",
              .figure = "wq kProcess, with history",
              .against = "wq kProcess",
              .bound = 0.95});
}

// --- the long course ---

// The measurements of a run, in their order.
struct Course {
  std::vector<double> rates;         // One value of each window.
  std::vector<double> store_mib;     // kSamplesInWindow values of each window.
  std::vector<double> resident_mib;  // Likewise.
};

Course RunWindows(Queue* queue, const std::string& dir, size_t lives) {
  const size_t lives_in_sample = std::max<size_t>(lives / kWindows / kSamplesInWindow, 1);
  Course course;
  std::string key;
  for (size_t window = 0; window < kWindows; ++window) {
    double seconds = 0;
    for (size_t sample = 0; sample < kSamplesInWindow; ++sample) {
      seconds += TimeLives(lives_in_sample, [&] { LiveOnce(queue, &key); });
      course.store_mib.push_back(static_cast<double>(DirectoryBytes(dir)) / kMebibyte);
      course.resident_mib.push_back(static_cast<double>(ResidentBytes()) / kMebibyte);
    }
    course.rates.push_back(Rate(lives_in_sample * kSamplesInWindow, seconds));
  }
  return course;
}

// Notes each value in the `fifth` fifth (0 to 4) of `values`.
void NoteFifth(Bench& bench, const std::string& figure, const char* unit,
               const std::vector<double>& values, size_t fifth) {
  const auto [begin, end] = Slice(values.size(), 5, fifth);
  for (size_t i = begin; i < end; ++i) {
    bench.Note(figure, unit, values[i]);
  }
}

void NoteCourse(Bench& bench, const Course& course) {
  NoteFifth(bench, "wq at the start", kPerSecond, course.rates, 0);
  NoteFifth(bench, "wq at the end", kPerSecond, course.rates, 4);
  bench.Note("largest store", kMebibytes,
             *std::max_element(course.store_mib.begin(), course.store_mib.end()));
  // The first fifth fills the write buffers.
  NoteFifth(bench, "memory in the second fifth", kMebibytes, course.resident_mib, 1);
  NoteFifth(bench, "memory at the end", kMebibytes, course.resident_mib, 4);
}

}  // namespace

void Churn(Bench& bench) {
  const Settings& settings = bench.settings();
  const Keys keys(std::min(kChurnKeys, settings.keys), settings.seed);
  ChurnRounds(bench, keys, settings.keys);
  const Durability durability = settings.durability.value_or(Durability::kAsync);
  const std::string dir = settings.dir + "/churn";
  {
    const Subject subject = Subject::Open(dir, {.durability = durability});
    AddAll(subject.queue, keys, durability);
    NoteCourse(bench,
               RunWindows(subject.queue, dir, settings.keys * (settings.long_run ? 100 : 10)));
    Require(subject.queue->Flush(), "Flush");
    RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  }
  RequireOnDisk(dir, {.pending = keys.size()}, "after the churn");
  std::filesystem::remove_all(dir);
  bench.Want({.what = std::string("churn, ") + DurabilityName(durability) + ": at the end",
              .figure = "wq at the end",
              .against = "wq at the start",
              .bound = 0.9});
  bench.Want(
      {.what = "churn: largest store", .figure = "largest store", .at_most = true, .bound = 256});
  bench.Want({.what = "churn: memory at the end",
              .figure = "memory at the end",
              .against = "memory in the second fifth",
              .at_most = true,
              .bound = 1.1});
}

}  // namespace wq::bench
