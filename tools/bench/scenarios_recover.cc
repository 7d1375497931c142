// Scenario recover: the time to open the store of a killed process.

#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "tools/bench/machine.h"
#include "tools/bench/process.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"
#include "wq/limiter.h"

namespace wq::bench {
namespace {

// The contents of the store: pending keys, half of which have failed, and half as many delayed
// keys.
struct Contents {
  explicit Contents(const Settings& settings)
      : pending(settings.keys, settings.seed),
        delayed(std::max<size_t>(settings.keys / 2, 1), settings.seed, settings.keys),
        failing(settings.keys / 2) {}
  const Keys pending;
  const Keys delayed;
  const size_t failing;
};

void RequireContents(Queue* queue, const Contents& contents) {
  const QueueCounts counts = queue->Counts();
  RequireEqual(counts.queued, contents.pending.size(), "pending keys after recovery");
  RequireEqual(counts.delayed, contents.delayed.size(), "delayed keys after recovery");
  RequireEqual(counts.failing, contents.failing, "failing keys after recovery");
}

}  // namespace

// Fills the store in the settings' directory, prints "filled", and waits to be killed.
void RecoverChild(Bench& bench) {
  const Contents contents(bench.settings());
  // A failure whose delay is none makes the key pending at once.
  const QueueOptions options{.durability = Durability::kAsync,
                             .limiter = std::make_shared<ItemFastSlow>(std::chrono::seconds(0),
                                                                       std::chrono::seconds(0), 0)};
  const Subject subject = Subject::Open(bench.settings().dir, options);
  for (size_t i = 0; i < contents.pending.size(); ++i) {
    const std::string_view key = contents.pending[i];
    Require(i % 2 == 1 ? subject.queue->AddRateLimited(key, "timed out") : subject.queue->Add(key),
            "filling the store");
  }
  for (size_t i = 0; i < contents.delayed.size(); ++i) {
    Require(subject.queue->AddAfter(contents.delayed[i], std::chrono::hours(24)), "AddAfter");
  }
  // At kPower all is in the database, where bare RocksDB finds it, and not in the process log only.
  Require(subject.queue->Flush(Durability::kPower), "Flush");
  std::cout << "filled" << std::endl;
  for (;;) {
    pause();
  }
}

void Recover(Bench& bench) {
  const Settings& settings = bench.settings();
  const Contents contents(settings);
  const std::string killed = settings.dir + "/killed";
  Child child(settings.program,
              {"--here", "--scenario", "recover-child", "--dir", killed, "--keys",
               std::to_string(settings.keys), "--seed", std::to_string(settings.seed)});
  Require(child.ReadLine() == "filled", "the child did not fill its store");
  child.Kill();
  bench.Note("store", kMebibytes, static_cast<double>(DirectoryBytes(killed)) / (1 << 20));
  // Opening changes a store, so each opening uses a copy.
  const auto copy = [&](const std::string& dir) {
    std::filesystem::copy(killed, dir, std::filesystem::copy_options::recursive);
  };
  bench.Alternate({
      [&](const std::string& dir) {
        copy(dir);
        const Stopwatch watch;
        const auto floor = Floor::Open(dir);
        const size_t records = floor->CountRecords();
        bench.Note("floor", kSeconds, watch.Seconds());
        RequireEqual(records, contents.pending.size() + contents.delayed.size() + contents.failing,
                     "records of the killed store");
      },
      [&](const std::string& dir) {
        copy(dir);
        const Stopwatch watch;
        const Subject subject = Subject::Open(dir);
        bench.Note("wq", kSeconds, watch.Seconds());
        RequireContents(subject.queue, contents);
      },
  });
  std::filesystem::remove_all(killed);
  bench.Want({.what = "recover after SIGKILL",
              .figure = "wq",
              .against = "floor",
              .compared_with = "bare open + scan",
              .at_most = true,
              .bound = 1.5});
}

}  // namespace wq::bench
