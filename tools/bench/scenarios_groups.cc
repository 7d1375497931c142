// Scenario groups: lives of keys of a hundredth of the groups, while all other groups are at their
// limit with a key that waits; beside the same lives without other groups, and without limits.
// Scenario priorities: keys that are each in a lane of their own, with a starvation bound and
// without; and keys of an open group below as many lanes that have only keys of a closed one.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

// Keys "GROUP/0", which is held, and "GROUP/1" of each group that is full; "GROUP/2" and "GROUP/3"
// of one that is not.
std::string NameOf(size_t group, int key) {
  return "tenant-" + std::to_string(group) + "/" + std::to_string(key);
}

void Add(Queue* queue, size_t group, int key) {
  const std::string name = NameOf(group, key);
  const std::string of = name.substr(0, name.find('/'));
  Require(queue->Add(name, {.group = of}), "Add");
}

// Lives a second of keys of `open` groups, beside `full` others.
double GroupLives(const QueueOptions& options, size_t open, size_t full, size_t lives) {
  const Subject subject = Subject::Open("", options);
  Queue* const queue = subject.queue;
  std::string key;
  for (size_t group = 0; group < full; ++group) {
    Add(queue, open + group, 0);
  }
  for (size_t group = 0; group < full; ++group) {
    Require(queue->Get(&key), "Get");
  }
  for (size_t group = 0; group < full; ++group) {
    Add(queue, open + group, 1);
  }
  for (size_t group = 0; group < open; ++group) {
    Add(queue, group, 2);
    Add(queue, group, 3);
  }
  const auto live = [&] {
    Status status = queue->Get(&key);
    if (status.ok()) status = queue->Done(key);
    if (status.ok()) {
      status = queue->Add(key, {.group = std::string_view(key).substr(0, key.find('/'))});
    }
    if (!status.ok()) Require(status, "Get, Done and Add");
  };
  for (size_t i = 0; i < lives / 4; ++i) live();
  const Stopwatch watch;
  for (size_t i = 0; i < lives; ++i) live();
  const double seconds = watch.Seconds();
  RequireEqual(queue->Counts().held_back, options.group_limits.max_processing == 0 ? 0 : full,
               "keys that are held back");
  return Rate(lives, seconds);
}

// --- priorities ---

QueueOptions OptionsOf(uint32_t starvation_bound) {
  return {.order = Order::kPriorities, .starvation_bound = starvation_bound};
}

// Keys a second: all are added, then each is taken and done.
double OneInEachLane(uint32_t starvation_bound, const Keys& keys) {
  const Subject subject = Subject::Open("", OptionsOf(starvation_bound));
  std::string key;
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    Require(subject.queue->Add(keys[i], {.lane = static_cast<Lane>(i)}), "Add");
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    Status status = subject.queue->Get(&key);
    if (status.ok()) status = subject.queue->Done(key);
    if (!status.ok()) Require(status, "Get and Done");
  }
  const double seconds = watch.Seconds();
  RequireEqual(subject.queue->Len(), 0, "queued keys");
  return Rate(keys.size(), seconds);
}

// The same of keys of two lanes and no group, below `closed` lanes whose group is at its limit.
double BelowClosedLanes(uint32_t starvation_bound, size_t closed, const Keys& keys) {
  QueueOptions options = OptionsOf(starvation_bound);
  options.group_limits = {.max_processing = 1};
  const Subject subject = Subject::Open("", options);
  Queue* const queue = subject.queue;
  std::string key;
  for (size_t i = 0; i <= closed; ++i) {
    const std::string name = "closed-" + std::to_string(i);
    Require(queue->Add(name, {.lane = static_cast<Lane>(i + 2), .group = "closed"}), "Add");
  }
  Require(queue->Get(&key), "Get");
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    Require(queue->Add(keys[i], {.lane = static_cast<Lane>(i % 2)}), "Add");
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    Status status = queue->Get(&key);
    if (status.ok()) status = queue->Done(key);
    if (!status.ok()) Require(status, "Get and Done");
  }
  const double seconds = watch.Seconds();
  RequireEqual(queue->Counts().held_back, closed, "keys that are held back");
  return Rate(keys.size(), seconds);
}

}  // namespace

void Groups(Bench& bench) {
  const size_t lives = std::max<size_t>(bench.settings().keys, 100);
  const size_t groups = std::max<size_t>(lives / 10, 100);
  const size_t open = groups / 100;
  const GroupLimits limits{.max_processing = 1};
  bench.AlternateTwice({
      [&](const std::string&) {
        bench.Note("no limits", kPerSecond, GroupLives({}, open, 0, lives));
      },
      [&](const std::string&) {
        bench.Note("limits", kPerSecond, GroupLives({.group_limits = limits}, open, 0, lives));
      },
      [&](const std::string&) {
        bench.Note("limits, 99 % full", kPerSecond,
                   GroupLives({.group_limits = limits}, open, groups - open, lives));
      },
      [&](const std::string&) {
        bench.Note("fair, limits, 99 % full", kPerSecond,
                   GroupLives({.order = Order::kFair, .group_limits = limits}, open, groups - open,
                              lives));
      },
  });
  const auto want = [&bench](const std::string& figure, const std::string& against, double bound) {
    bench.Want(
        {.what = "groups: lives, " + figure, .figure = figure, .against = against, .bound = bound});
  };
  want("limits", "no limits", 0.5);
  want("limits, 99 % full", "limits", 0.7);
  want("fair, limits, 99 % full", "limits", 0.6);
}

void Priorities(Bench& bench) {
  constexpr uint32_t kBound = 10;
  const size_t most = std::max<size_t>(bench.settings().keys / 10, 100);
  const Keys all(most, bench.settings().seed);
  std::vector<Bench::Subject> subjects;
  const auto add = [&](const std::string& figure, const std::function<double()>& rate) {
    subjects.emplace_back(
        [&bench, figure, rate](const std::string&) { bench.Note(figure, kPerSecond, rate()); });
  };
  const auto want = [&bench](const std::string& figure, const std::string& against) {
    bench.Want(
        {.what = "priorities: " + figure, .figure = figure, .against = against, .bound = 0.5});
  };
  for (const size_t count : {most / 50, most / 5, most}) {
    const Keys keys(count, bench.settings().seed);
    const std::string plain = std::to_string(count) + " keys, each in a lane of its own";
    const std::string bounded = plain + ", starvation bound 10";
    add(plain, [keys] { return OneInEachLane(0, keys); });
    add(bounded, [keys] { return OneInEachLane(kBound, keys); });
    want(bounded, plain);
  }
  const Keys keys(most / 5, bench.settings().seed);
  const std::string lanes = "below " + std::to_string(keys.size()) + " closed lanes";
  add("below none", [keys] { return BelowClosedLanes(0, 0, keys); });
  add(lanes, [keys] { return BelowClosedLanes(0, keys.size(), keys); });
  add(lanes + ", starvation bound 10",
      [keys] { return BelowClosedLanes(kBound, keys.size(), keys); });
  want(lanes, "below none");
  want(lanes + ", starvation bound 10", "below none");
  bench.AlternateTwice(subjects);
}

}  // namespace wq::bench
