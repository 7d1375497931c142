// Scenario churn: many lives of the same keys. The speed, and the sizes of store and memory, must
// not change.

#include <algorithm>
#include <filesystem>

#include "storage/records.h"
#include "tests/bench/machine.h"
#include "tests/bench/scenarios.h"
#include "tests/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kChurnKeys = 10'000;
constexpr size_t kWindows = 40;
constexpr size_t kSamplesInWindow = 10;
constexpr size_t kFloorPairs = 64;  // Pairs of a put and an erase in one write.

constexpr double kMebibyte = 1 << 20;

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

// Measures the floor and the reference in the same number of windows as wq, each a tenth as long.
void ChurnOthers(Bench& bench, const Keys& keys, size_t lives, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  ChangePending(floor.get(), keys, FloorChange::kPut, Durability::kAsync);
  const Shape shape = PendingShape();
  Floor::Batch batch(floor.get());
  size_t at = 0;
  ReferenceQueue reference;
  AddAll(&reference, keys);
  std::string key;
  for (size_t window = 0; window < kWindows; ++window) {
    const double floor_seconds = TimeLives(lives, [&] {
      const uint64_t block = at >> storage::kSequenceBlockBits;
      batch.Erase(shape, block, keys[at]);
      batch.Put(shape, block, keys[at]);
      at = (at + 1) % keys.size();
      if (batch.count() >= 2 * kFloorPairs) {
        batch.Write(false);
      }
    });
    bench.Note("floor", kPerSecond, Rate(lives, floor_seconds));
    const double reference_seconds = TimeLives(lives, [&] {
      Require(reference.Get(&key), "the reference ended");
      reference.Done(key);
      reference.Add(key);
    });
    bench.Note("reference", kPerSecond, Rate(lives, reference_seconds));
  }
  batch.Write(false);
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
  RequireEqual(reference.Len(), keys.size(), "keys in the reference");
}

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
  for (const double rate : course.rates) {
    bench.Note("wq", kPerSecond, rate);
  }
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
  const size_t lives = settings.keys * (settings.long_run ? 100 : 10);
  const Keys keys(std::min(kChurnKeys, settings.keys), settings.seed);
  const std::string dir = settings.dir + "/churn";
  {
    const Subject subject =
        Subject::Open(dir, {.durability = settings.durability.value_or(Durability::kAsync)});
    AddAll(subject.queue, keys, Durability::kAsync);
    NoteCourse(bench, RunWindows(subject.queue, dir, lives));
    Require(subject.queue->Flush(), "Flush");
    RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  }
  RequireOnDisk(dir, {.pending = keys.size()}, "after the churn");
  std::filesystem::remove_all(dir);
  ChurnOthers(bench, keys, std::max<size_t>(lives / kWindows / 10, 1), dir);
  bench.Want({.what = "churn, kAsync: at the end",
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
  bench.Want({.what = "churn, kAsync", .figure = "wq", .against = "reference"});
  bench.Want({.what = "churn, kAsync", .figure = "wq", .against = "floor"});
}

}  // namespace wq::bench
