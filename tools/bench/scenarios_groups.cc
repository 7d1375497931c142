// Scenario groups: lives of keys of a hundredth of the groups, while all other groups are at their
// limit with a key that waits; beside the same lives without other groups, and without limits.

#include <algorithm>
#include <string>

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

}  // namespace wq::bench
