// Scenarios delay, backoff and lanes: keys that are delayed, and keys that change their lane.
//
// The clock is a manual one, so that no key is due before the clock is advanced.

#include "storage/records.h"
#include "tools/bench/reference_delays.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"
#include "wq/clock.h"

namespace wq::bench {
namespace {

constexpr std::chrono::hours kDelay{1};
constexpr std::chrono::hours kAllDue{3};

// Between one and two hours, in no order.
std::chrono::microseconds DelayOf(size_t i) {
  constexpr uint64_t kHourUs = 3'600'000'000;
  return kDelay + std::chrono::microseconds(i * 2'654'435'761 % kHourUs);
}

uint64_t Block(size_t i) { return i >> storage::kSequenceBlockBits; }

// Calls change(batch, i) for each key, writes in batches of kFloorBatch, and syncs at the end.
template <typename Change>
double TimeFloor(Floor* floor, size_t count, Change&& change) {
  Floor::Batch batch(floor);
  const Stopwatch watch;
  for (size_t i = 0; i < count; ++i) {
    change(&batch, i);
    if (batch.count() >= kFloorBatch) {
      batch.Write(false);
    }
  }
  batch.Write(false);
  floor->Sync();
  return watch.Seconds();
}

// Calls call(i) for each key, then flushes the queue.
template <typename Call>
double TimeCalls(Queue* queue, size_t count, Call&& call) {
  const Stopwatch watch;
  for (size_t i = 0; i < count; ++i) {
    if (const Status status = call(i); !status.ok()) {
      Require(status, "a call");
    }
  }
  Require(queue->Flush(), "Flush");
  return watch.Seconds();
}

// --- delay ---

void DelayFloor(Bench& bench, const Keys& keys, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Shape delayed = DelayedShape();
  const Shape pending = PendingShape();
  const auto ready_at = [](size_t i) { return static_cast<uint64_t>(DelayOf(i).count()); };
  const double add = TimeFloor(floor.get(), keys.size(), [&](Floor::Batch* batch, size_t i) {
    batch->Put(delayed, ready_at(i), keys[i]);
  });
  const double fire = TimeFloor(floor.get(), keys.size(), [&](Floor::Batch* batch, size_t i) {
    batch->Erase(delayed, ready_at(i), keys[i]);
    batch->Put(pending, Block(i), keys[i]);
  });
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
  bench.Note("floor AddAfter", kPerSecond, Rate(keys.size(), add));
  bench.Note("floor firing", kSeconds, fire);
}

void DelayReference(Bench& bench, const Keys& keys) {
  ReferenceQueue queue;
  ReferenceDelays delays(&queue);
  const Stopwatch adding;
  for (size_t i = 0; i < keys.size(); ++i) {
    delays.AddAfter(keys[i], DelayOf(i).count());
  }
  bench.Note("reference AddAfter", kPerSecond, Rate(keys.size(), adding.Seconds()));
  const Stopwatch firing;
  const int64_t now = std::chrono::microseconds(kAllDue).count();
  RequireEqual(delays.Fire(now), keys.size(), "keys that the reference fired");
  bench.Note("reference firing", kSeconds, firing.Seconds());
  RequireEqual(queue.Len(), keys.size(), "keys in the reference");
}

// For comparison: the Adds of the same keys, with the same kind of clock.
void DelayAdds(Bench& bench, const Keys& keys, const std::string& dir) {
  ManualClock clock;
  const Subject subject = Subject::Open(dir, {.durability = Durability::kAsync}, &clock);
  const double seconds =
      TimeCalls(subject.queue, keys.size(), [&](size_t i) { return subject.queue->Add(keys[i]); });
  RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  bench.Note("wq Add", kPerSecond, Rate(keys.size(), seconds));
}

// `delay(queue, i)` delays a key; `what` is in the names of the figures.
template <typename DelayKey>
void DelayQueue(Bench& bench, const Keys& keys, const std::string& dir, const std::string& what,
                DelayKey&& delay) {
  ManualClock clock;
  const Subject subject = Subject::Open(dir, {.durability = Durability::kAsync}, &clock);
  Queue* const queue = subject.queue;
  const double add = TimeCalls(queue, keys.size(), [&](size_t i) { return delay(queue, i); });
  RequireEqual(queue->Counts().delayed, keys.size(), "delayed keys");
  RequireEqual(queue->Len(), 0, "keys that are ready early");
  RequireOnDisk(dir, {.delayed = keys.size()}, what);
  bench.Note("wq " + what, kPerSecond, Rate(keys.size(), add));

  const Stopwatch firing;
  clock.Advance(kAllDue);
  while (queue->Len() < keys.size()) {
  }
  Require(queue->Flush(), "Flush");
  bench.Note("wq firing after " + what, kSeconds, firing.Seconds());
  RequireEqual(queue->Counts().delayed, 0, "delayed keys after all fired");
  RequireOnDisk(dir, {.pending = keys.size()}, "after firing");
}

// --- backoff ---

void BackoffFloor(Bench& bench, const Keys& keys, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Shape delayed = DelayedShape();
  const Shape failure = FailureShape();
  const double add = TimeFloor(floor.get(), keys.size(), [&](Floor::Batch* batch, size_t i) {
    batch->Put(failure, 0, keys[i]);
    batch->Put(delayed, 1, keys[i]);
  });
  RequireEqual(floor->CountRecords(), 2 * keys.size(), "records of the floor");
  const double forget = TimeFloor(floor.get(), keys.size(), [&](Floor::Batch* batch, size_t i) {
    batch->Erase(failure, 0, keys[i]);
  });
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
  bench.Note("floor AddRateLimited", kPerSecond, Rate(keys.size(), add));
  bench.Note("floor Forget", kPerSecond, Rate(keys.size(), forget));
}

void BackoffReference(Bench& bench, const Keys& keys) {
  ReferenceQueue queue;
  ReferenceDelays delays(&queue);
  const Stopwatch adding;
  for (size_t i = 0; i < keys.size(); ++i) {
    delays.AddRateLimited(keys[i], static_cast<int64_t>(i));
  }
  bench.Note("reference AddRateLimited", kPerSecond, Rate(keys.size(), adding.Seconds()));
  RequireEqual(delays.failing(), keys.size(), "failing keys of the reference");
  const Stopwatch forgetting;
  for (size_t i = 0; i < keys.size(); ++i) {
    delays.Forget(keys[i]);
  }
  bench.Note("reference Forget", kPerSecond, Rate(keys.size(), forgetting.Seconds()));
  RequireEqual(delays.failing(), 0, "failing keys of the reference");
}

void BackoffQueue(Bench& bench, const Keys& keys, const std::string& dir) {
  ManualClock clock;
  const Subject subject = Subject::Open(dir, {.durability = Durability::kAsync}, &clock);
  Queue* const queue = subject.queue;
  const double add = TimeCalls(
      queue, keys.size(), [&](size_t i) { return queue->AddRateLimited(keys[i], "timed out"); });
  const QueueCounts counts = queue->Counts();
  RequireEqual(counts.failing, keys.size(), "failing keys");
  RequireEqual(counts.delayed, keys.size(), "delayed keys");
  RequireOnDisk(dir, {.delayed = keys.size(), .failing = keys.size()}, "AddRateLimited");
  const double forget =
      TimeCalls(queue, keys.size(), [&](size_t i) { return queue->Forget(keys[i]); });
  RequireEqual(queue->Counts().failing, 0, "failing keys after Forget");
  RequireOnDisk(dir, {.delayed = keys.size()}, "Forget");
  bench.Note("wq AddRateLimited", kPerSecond, Rate(keys.size(), add));
  bench.Note("wq Forget", kPerSecond, Rate(keys.size(), forget));
}

// --- lanes ---

void LanesFloor(Bench& bench, const Keys& keys, const std::string& dir) {
  const auto floor = Floor::Create(dir);
  const Shape fast = PendingShape();
  const Shape slow = SlowLaneShape();
  const auto move = [&](const Shape& from, const Shape& to) {
    return TimeFloor(floor.get(), keys.size(), [&](Floor::Batch* batch, size_t i) {
      batch->Erase(from, Block(i), keys[i]);
      batch->Put(to, Block(i), keys[i]);
    });
  };
  TimeFloor(floor.get(), keys.size(),
            [&](Floor::Batch* batch, size_t i) { batch->Put(slow, Block(i), keys[i]); });
  const double seconds = move(slow, fast) + move(fast, slow);
  RequireEqual(floor->CountRecords(), keys.size(), "records of the floor");
  bench.Note("floor", kPerSecond, Rate(2 * keys.size(), seconds));
}

void LanesReference(Bench& bench, const Keys& keys) {
  ReferenceLanes lanes;
  const auto add_all = [&](size_t lane) {
    for (size_t i = 0; i < keys.size(); ++i) {
      lanes.Add(keys[i], lane);
    }
  };
  add_all(1);
  const Stopwatch watch;
  add_all(0);
  add_all(1);
  bench.Note("reference", kPerSecond, Rate(2 * keys.size(), watch.Seconds()));
  RequireEqual(lanes.Len(1), keys.size(), "keys in the reference's slow lane");
}

void LanesQueue(Bench& bench, const Keys& keys, const std::string& dir) {
  const Subject subject =
      Subject::Open(dir, {.order = Order::kTwoLanes, .durability = Durability::kAsync});
  Queue* const queue = subject.queue;
  const auto add_all = [&](Lane lane) {
    const AddOptions options{.lane = lane};
    return TimeCalls(queue, keys.size(), [&](size_t i) { return queue->Add(keys[i], options); });
  };
  add_all(kSlowLane);
  double seconds = add_all(kFastLane);
  RequireEqual(queue->Counts().lanes[kFastLane], keys.size(), "keys in the fast lane");
  seconds += add_all(kSlowLane);
  RequireEqual(queue->Counts().lanes[kSlowLane], keys.size(), "keys in the slow lane");
  Require(queue->List(1).front().key == keys[0], "the first key is not the first one moved");
  RequireOnDisk(dir, {.pending = keys.size()}, "after the moves");
  bench.Note("wq", kPerSecond, Rate(2 * keys.size(), seconds));
}

}  // namespace

void Delay(Bench& bench) {
  const Keys keys(std::max<size_t>(bench.settings().keys / 2, 1), bench.settings().seed);
  bench.AlternateTwice({
      [&](const std::string& dir) { DelayFloor(bench, keys, dir); },
      [&](const std::string&) { DelayReference(bench, keys); },
      [&](const std::string& dir) { DelayAdds(bench, keys, dir); },
      [&](const std::string& dir) {
        DelayQueue(bench, keys, dir, "AddAfter", [&keys](Queue* queue, size_t i) {
          return queue->AddAfter(keys[i], DelayOf(i));
        });
      },
      [&](const std::string& dir) {
        DelayQueue(bench, keys, dir, "debounced Add", [&keys](Queue* queue, size_t i) {
          return queue->Add(keys[i], {.debounce = Debounce{DelayOf(i), kAllDue}});
        });
      },
  });
  bench.Want({.what = "delay: AddAfter + Flush, kAsync",
              .figure = "wq AddAfter",
              .against = "wq Add",
              .bound = 0.5});
  bench.Want({.what = "delay: firing all, + Flush",
              .figure = "wq firing after AddAfter",
              .against = "floor firing",
              .compared_with = "the same two records, bare RocksDB",
              .at_most = true,
              .bound = 1.2});
  bench.Want({.what = "delay: AddAfter + Flush, kAsync",
              .figure = "wq AddAfter",
              .against = "reference AddAfter"});
  bench.Want({.what = "delay: debounced Add + Flush, kAsync",
              .figure = "wq debounced Add",
              .against = "wq AddAfter",
              .bound = 0.95});
  bench.Want({.what = "delay: firing all debounced, + Flush",
              .figure = "wq firing after debounced Add",
              .against = "wq firing after AddAfter",
              .at_most = true,
              .bound = 1.05});
}

void Backoff(Bench& bench) {
  const Keys keys(std::max<size_t>(bench.settings().keys / 4, 1), bench.settings().seed);
  bench.Alternate({
      [&](const std::string& dir) { BackoffFloor(bench, keys, dir); },
      [&](const std::string&) { BackoffReference(bench, keys); },
      [&](const std::string& dir) { BackoffQueue(bench, keys, dir); },
  });
  for (const std::string call : {"AddRateLimited", "Forget"}) {
    for (const std::string side : {"floor ", "reference "}) {
      bench.Want({.what = "backoff: " + call + " + Flush, kAsync",
                  .figure = "wq " + call,
                  .against = side + call});
    }
  }
}

void Lanes(Bench& bench) {
  const Keys keys(std::max<size_t>(bench.settings().keys / 4, 1), bench.settings().seed);
  bench.AlternateTwice({
      [&](const std::string& dir) { LanesFloor(bench, keys, dir); },
      [&](const std::string&) { LanesReference(bench, keys); },
      [&](const std::string& dir) { LanesQueue(bench, keys, dir); },
  });
  bench.Want({.what = "lanes: moves + Flush, kAsync",
              .figure = "wq",
              .against = "reference",
              .bound = 0.8});
  bench.Want({.what = "lanes: moves + Flush, kAsync", .figure = "wq", .against = "floor"});
}

}  // namespace wq::bench
