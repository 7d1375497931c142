// Rows of the scenario replication: how long until the next owner of a store hands out its first
// key, and how long a fresh replica takes to begin from etcd.
//
// A round: another process owns the store, and is killed; this process takes over; another process
// follows; this process resigns, and the other one takes over.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tools/bench/keys.h"
#include "tools/bench/replication/parts.h"
#include "tools/bench/replication/replicas.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kFewKeys = 1000;
constexpr size_t kBatch = 1000;

// Takes over as soon as it can, and hands out the first key. Returns when that was. The key is
// given back. *owned_ns: when the ownership began.
int64_t TakeOver(Store* store, size_t keys, int64_t* owned_ns) {
  Require(store->WaitForLeadership(kPatience), "WaitForLeadership of the next owner");
  *owned_ns = NowNs();
  Queue* queue = nullptr;
  Require(store->OpenQueue(kQueueName, {}, &queue), "opening the queue of the next owner");
  std::string key;
  Require(queue->GetFor(kPatience, &key), "the first key of the next owner");
  const int64_t handed_out_ns = NowNs();
  Require(queue->PutBack(key), "PutBack");
  RequireEqual(queue->Len(), keys, "keys of the next owner");
  return handed_out_ns;
}

void AwaitCaughtUp(const Store& store, const std::shared_ptr<ReplicatedLog>& log) {
  Await("a replica has caught up", [&] { return HasCaughtUp(store, log.get()); });
}

// "1 000 keys": the names of the figures of a store of so many.
std::string KeysText(size_t keys) {
  return keys == 1'000'000 ? "1 M keys" : std::to_string(keys) + " keys";
}

double Seconds(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e9;
}

void MeasureOwners(Bench& bench, size_t keys, const Place& here, const Place& there) {
  const Settings& settings = bench.settings();
  const std::shared_ptr<ReplicatedLog> log = here.OpenLog();
  const std::string text = ", " + KeysText(keys);
  const std::string killed = "replication: first key after SIGKILL of the owner" + text;
  const std::string owned = "replication: ownership after SIGKILL of the owner" + text;
  const std::string resigned = "replication: first key after Resign" + text;
  auto other = std::make_unique<ReplicaProcess>(settings, "replicated-fill-child", there, keys);
  const std::unique_ptr<Store> store = here.Open(log);
  for (size_t round = 0; round < settings.rounds; ++round) {
    AwaitCaughtUp(*store, log);
    const int64_t kill_ns = NowNs();
    other->Kill();
    int64_t owned_ns = 0;
    bench.Note(killed, kSeconds, Seconds(kill_ns, TakeOver(store.get(), keys, &owned_ns)));
    bench.Note(owned, kSeconds, Seconds(kill_ns, owned_ns));

    other = std::make_unique<ReplicaProcess>(settings, "replicated-next-child", there, keys);
    const int64_t resign_ns = NowNs();
    Require(store->Resign(), "Resign");
    const std::string handed_out_ns = other->ReadLine();
    Require(!handed_out_ns.empty(), "the next owner's process has ended");
    bench.Note(resigned, kMilliseconds,
               1e3 * Seconds(resign_ns, std::strtoll(handed_out_ns.c_str(), nullptr, 10)));
  }
  AwaitCaughtUp(*store, log);
  Require(store->Close(), "Close");
  const double lease_s = std::chrono::duration<double>(here.lease).count();
  bench.Want({.what = killed, .figure = killed, .at_most = true, .bound = lease_s + 1});
  bench.Want({.what = owned, .figure = owned, .against = killed, .compared_with = "first key"});
  bench.Want({.what = resigned, .figure = resigned, .at_most = true, .bound = 100});
}

// Nobody runs the store: all that the replica gets is from etcd.
void MeasureFreshReplicas(Bench& bench, size_t keys, const std::string& dir,
                          const EtcdOptions& etcd) {
  const std::string fresh = "replication: a fresh replica from etcd alone, " + KeysText(keys);
  for (size_t round = 0; round < bench.settings().rounds; ++round) {
    const Place place{.dir = dir + "/fresh",
                      .name = "fresh-" + std::to_string(round),
                      .etcd = etcd,
                      .candidate = false};
    const std::shared_ptr<ReplicatedLog> log = place.OpenLog();
    LogState state;
    Require(log->State(&state), "the state of the log");
    {
      const Stopwatch watch;
      const std::unique_ptr<Store> store = place.Open();
      Await("a fresh replica has caught up", [&] {
        const ReplicaState replica = store->Replica();
        return replica.applied_at_us != 0 && replica.applied >= state.last;
      });
      bench.Note(fresh, kSeconds, watch.Seconds());
      RequireOnDisk(place.StoreDir(), {.pending = keys}, "a fresh replica");
      Require(store->Close(), "Close");
    }
    const Status removed = log->RemoveReplica(place.name);
    Require(removed.ok() || removed.code() == StatusCode::kNotFound, "RemoveReplica");
    std::filesystem::remove_all(place.dir);
  }
  bench.Want({.what = fresh, .figure = fresh, .at_most = true, .bound = 30});
}

}  // namespace

void ReplicatedFillChild(Bench& bench) {
  const Settings& settings = bench.settings();
  const Keys keys(settings.keys, settings.seed);
  const std::unique_ptr<Store> store = Place::Load(settings.dir).Open();
  Queue* const queue = OpenOwned(store.get());
  AddBatches(queue, keys, 0, keys.size(), kBatch, Durability::kProcess);
  Require(queue->Flush(Durability::kReplicated), "Flush");
  SayReady();
  for (;;) {  // Until it is killed.
    pause();
  }
}

void ReplicatedNextChild(Bench& bench) {
  const Place place = Place::Load(bench.settings().dir);
  const std::shared_ptr<ReplicatedLog> log = place.OpenLog();
  const std::unique_ptr<Store> store = place.Open(log);
  AwaitCaughtUp(*store, log);
  SayReady();
  int64_t owned_ns = 0;
  std::printf("%lld\n",
              static_cast<long long>(TakeOver(store.get(), bench.settings().keys, &owned_ns)));
  std::fflush(stdout);
  for (;;) {  // Until it is killed.
    pause();
  }
}

void MeasureTakeovers(Bench& bench, const EtcdMembers& members) {
  const Settings& settings = bench.settings();
  // With few keys this is a test, which has no time for long leases.
  const std::chrono::milliseconds lease(settings.keys < 100'000 ? 2000 : 5000);
  std::vector<size_t> sizes = {std::min(kFewKeys, settings.keys)};
  if (settings.keys > kFewKeys) {
    sizes.push_back(settings.keys);
  }
  for (const size_t keys : sizes) {
    const std::string dir = settings.dir + "/takeover";
    const EtcdOptions etcd = members.Options(NewPrefix());
    MeasureOwners(bench, keys,
                  Place{.dir = dir + "/here", .name = "here", .etcd = etcd, .lease = lease},
                  Place{.dir = dir + "/there", .name = "there", .etcd = etcd, .lease = lease});
    if (keys == sizes.back()) {
      MeasureFreshReplicas(bench, keys, dir, etcd);
    }
    std::shared_ptr<ReplicatedLog> log;
    Require(OpenEtcdLog(etcd, &log), "OpenEtcdLog");
    Await("the log of a killed owner can be deleted",
          [&] { return log->Destroy(/*force=*/true).ok(); });
    members.Compact();
    std::filesystem::remove_all(dir);
  }
}

}  // namespace wq::bench
