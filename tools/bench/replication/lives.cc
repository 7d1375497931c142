// Rows of the scenario replication: the sizes of etcd's database and of the owner's memory, while
// the same keys live at a fixed rate.

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <thread>

#include "tools/bench/keys.h"
#include "tools/bench/replication/parts.h"
#include "tools/bench/replication/replicas.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kLivesPerSecond = 20'000;
constexpr size_t kLivesEachTime = 20;  // Each millisecond.
constexpr size_t kLivingKeys = 10'000;
constexpr size_t kShortSeconds = 20;
constexpr size_t kLongSeconds = 600;
constexpr int kSampleMs = 100;
constexpr double kBytesOfMebibyte = 1 << 20;

size_t LivingKeys(size_t lives) { return std::min(kLivingKeys, lives); }

struct Sizes {
  std::vector<double> database_mib;
  std::vector<double> memory_mib;
};

// Notes the tenth of the values that begins at `begin`, of the whole 1.
void NoteTenth(Bench& bench, const std::string& figure, const std::vector<double>& values,
               double begin) {
  const size_t count = std::max<size_t>(values.size() / 10, 1);
  const auto first = static_cast<size_t>(begin * static_cast<double>(values.size()));
  for (size_t i = 0; i < count; ++i) {
    bench.Note(figure, kMebibytes, values[std::min(first + i, values.size() - 1)]);
  }
}

void WantFlat(Bench& bench, const std::string& what, const std::vector<double>& values) {
  const std::string early = what + " at a third of the time";
  NoteTenth(bench, early, values, 1.0 / 3);
  NoteTenth(bench, what, values, 0.9);
  bench.Want({.what = what,
              .figure = what,
              .against = early,
              .compared_with = "at a third of the time",
              .at_most = true,
              .bound = 1.25});
}

}  // namespace

// --keys: the lives.
void ReplicatedLivesChild(Bench& bench) {
  const size_t lives = bench.settings().keys;
  const Keys keys(LivingKeys(lives), bench.settings().seed);
  const std::unique_ptr<Store> store = Place::Load(bench.settings().dir).Open();
  Queue* const queue = OpenOwned(store.get());
  AddBatches(queue, keys, 0, keys.size(), keys.size(), Durability::kReplicated);
  SayReady();
  const auto begin = std::chrono::steady_clock::now();
  const Stopwatch watch;
  std::string key;
  for (size_t i = 0; i < lives; ++i) {
    if (i % kLivesEachTime == 0) {
      const auto due = begin + std::chrono::milliseconds(i / kLivesEachTime);
      while (std::chrono::steady_clock::now() < due) {  // The pace, and not a wait for an event.
        poll(nullptr, 0, 1);
      }
    }
    Status status = queue->Get(&key);
    if (status.ok()) status = queue->Done(key);
    if (status.ok()) status = queue->Add(key, {.durability = Durability::kProcess});
    Require(status, "Get, Done and Add");
  }
  const double seconds = watch.Seconds();
  Require(queue->Flush(Durability::kReplicated), "Flush");
  RequireEqual(queue->Len(), keys.size(), "keys in the queue");
  std::printf("%.6f\n", Rate(lives, seconds));
  std::fflush(stdout);
  for (;;) {  // Until it is killed.
    pause();
  }
}

void MeasureReplicatedLives(Bench& bench, const EtcdMembers& members) {
  const Settings& settings = bench.settings();
  const size_t seconds = settings.long_run
                             ? kLongSeconds
                             : std::clamp<size_t>(settings.keys / 20'000, 1, kShortSeconds);
  const size_t lives = seconds * kLivesPerSecond;
  const std::string dir = settings.dir + "/lives";
  const EtcdOptions etcd = members.Options(NewPrefix());
  ReplicaProcess owner(settings, "replicated-lives-child",
                       Place{.dir = dir + "/owner", .name = "owner", .etcd = etcd}, lives);
  FollowerProcess follower(
      settings,
      Place{.dir = dir + "/follower", .name = "follower", .etcd = etcd, .candidate = false});

  Sizes sizes;
  std::atomic<bool> ended = false;
  std::thread sampling([&] {
    do {
      sizes.database_mib.push_back(static_cast<double>(members.DatabaseBytes()) / kBytesOfMebibyte);
      sizes.memory_mib.push_back(static_cast<double>(owner.ResidentBytes()) / kBytesOfMebibyte);
      poll(nullptr, 0, kSampleMs);  // The interval of the samples.
    } while (!ended.load());
  });
  const std::string rate = owner.ReadLine();
  ended = true;
  sampling.join();
  Require(!rate.empty(), "the owner's process has ended");
  follower.AwaitAll();
  RequireOnDisk(follower.StoreDir(), {.pending = LivingKeys(lives)},
                "the follower after the lives");
  owner.Kill();
  follower.Kill();
  std::shared_ptr<ReplicatedLog> log;
  Require(OpenEtcdLog(etcd, &log), "OpenEtcdLog");
  Await("the log of a killed owner can be deleted",
        [&] { return log->Destroy(/*force=*/true).ok(); });
  members.Compact();
  std::filesystem::remove_all(dir);

  const std::string what = "replication: 20 000 lives/s for " + std::to_string(seconds) + " s, ";
  WantFlat(bench, what + "etcd's database", sizes.database_mib);
  WantFlat(bench, what + "the owner's memory", sizes.memory_mib);
  bench.Note(what + "the rate", kPerSecond, std::strtod(rate.c_str(), nullptr));
  bench.Want(
      {.what = what + "the rate", .figure = what + "the rate", .bound = 0.95 * kLivesPerSecond});
}

}  // namespace wq::bench
