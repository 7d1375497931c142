#include "tools/bench/replication/replicas.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tools/bench/replication/measured_log.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr const char* kReady = "ready";

// The last line that is complete decides.
std::vector<FollowerProcess::Applied> ReadApplied(const std::string& dir) {
  std::vector<FollowerProcess::Applied> applied;
  std::ifstream file(dir + "/applied");
  FollowerProcess::Applied next;
  while (file >> next.at_ns >> next.sequence && file.get() == '\n') {
    applied.push_back(next);
  }
  return applied;
}

const Place& Saved(const Place& place) {
  place.Save();
  return place;
}

}  // namespace

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Await(std::string_view what, const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    Require(std::chrono::steady_clock::now() < deadline,
            "waited two minutes for: " + std::string(what));
    poll(nullptr, 0, 1);
  }
}

void Place::Save() const {
  std::filesystem::create_directories(dir);
  std::ofstream file(dir + "/replica");
  file << name << "\n" << candidate << " " << lease.count() << "\n" << etcd.prefix << "\n";
  for (const std::string& endpoint : etcd.endpoints) {
    file << endpoint << "\n";
  }
  Require(file.flush().good(), "writing " + dir + "/replica");
}

Place Place::Load(const std::string& dir) {
  Place place;
  place.dir = dir;
  std::ifstream file(dir + "/replica");
  int64_t lease_ms = 0;
  file >> place.name >> place.candidate >> lease_ms >> place.etcd.prefix;
  place.lease = std::chrono::milliseconds(lease_ms);
  for (std::string endpoint; file >> endpoint;) {
    place.etcd.endpoints.push_back(endpoint);
  }
  Require(!place.etcd.endpoints.empty(), "reading " + dir + "/replica");
  return place;
}

std::shared_ptr<ReplicatedLog> Place::OpenLog() const {
  std::shared_ptr<ReplicatedLog> log;
  Require(OpenEtcdLog(etcd, &log), "OpenEtcdLog");
  return log;
}

std::unique_ptr<Store> Place::Open(std::shared_ptr<ReplicatedLog> log) const {
  StoreOptions options;
  options.create_if_missing = true;
  options.replication.emplace();
  options.replication->log = log == nullptr ? OpenLog() : std::move(log);
  options.replication->name = name;
  options.replication->candidate = candidate;
  options.replication->lease = lease;
  std::filesystem::create_directories(dir);
  std::unique_ptr<Store> store;
  Require(Store::Open(options, StoreDir(), &store), "opening replica " + name);
  return store;
}

Queue* OpenOwned(Store* store) {
  Require(store->WaitForLeadership(kPatience), "WaitForLeadership");
  Queue* queue = nullptr;
  Require(store->OpenQueue(kQueueName, {}, &queue), "opening the queue");
  return queue;
}

bool HasCaughtUp(const Store& store, ReplicatedLog* log) {
  LogState state;
  Require(log->State(&state), "the state of the log");
  const ReplicaState replica = store.Replica();
  return state.owner.epoch != 0 && replica.owner_name == state.owner.name &&
         replica.applied_at_us != 0 && replica.applied >= state.last;
}

void AddBatches(Queue* queue, const Keys& keys, size_t begin, size_t end, size_t batch_size,
                Durability durability) {
  std::vector<std::string_view> batch;
  for (size_t i = begin; i < end; ++i) {
    batch.push_back(keys[i]);
    if (batch.size() == batch_size || i + 1 == end) {
      BatchResult result;
      Require(queue->AddBatch(batch, {.durability = durability}, &result), "AddBatch");
      RequireEqual(result.added, batch.size(), "keys that AddBatch added");
      batch.clear();
    }
  }
}

// --- Processes ---

ReplicaProcess::ReplicaProcess(const Settings& settings, const std::string& scenario,
                               const Place& place, size_t keys)
    : place_(Saved(place)),
      child_(settings.program, {"--here", "--scenario", scenario, "--dir", place.dir, "--keys",
                                std::to_string(keys), "--seed", std::to_string(settings.seed)}) {
  Require(child_.ReadLine() == kReady, scenario + " did not start");
}

size_t ReplicaProcess::ResidentBytes() const {
  std::ifstream file("/proc/" + std::to_string(child_.pid()) + "/statm");
  size_t size = 0;
  size_t resident = 0;
  Require(static_cast<bool>(file >> size >> resident), "reading the memory of a process");
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void SayReady() {
  std::printf("%s\n", kReady);
  std::fflush(stdout);
}

FollowerProcess::FollowerProcess(const Settings& settings, const Place& place)
    : process_(settings, "replicated-follower-child", place, settings.keys),
      log_(place.OpenLog()) {}

std::vector<FollowerProcess::Applied> FollowerProcess::AwaitAll() const {
  LogState state;
  Require(log_->State(&state), "the state of the log");
  std::vector<Applied> applied;
  Await("the follower has all of the log", [&] {
    applied = ReadApplied(process_.place().dir);
    return !applied.empty() && applied.back().sequence >= state.last;
  });
  return applied;
}

void ReplicatedFollowerChild(Bench& bench) {
  const Place place = Place::Load(bench.settings().dir);
  const std::unique_ptr<Store> store = place.Open();
  const std::shared_ptr<ReplicatedLog> log = place.OpenLog();
  Await("the follower has caught up", [&] { return HasCaughtUp(*store, log.get()); });
  std::ofstream file(place.dir + "/applied");
  SayReady();
  for (uint64_t last = 0;;) {  // Until it is killed.
    if (const uint64_t applied = store->Replica().applied; applied != last) {
      last = applied;
      file << NowNs() << " " << applied << std::endl;
    }
    poll(nullptr, 0, 1);
  }
}

// --- ReplicatedSubject ---

std::string NewPrefix() {
  static size_t used = 0;  // Of the main thread.
  return "/wqbench/" + std::to_string(++used);
}

ReplicatedSubject::ReplicatedSubject(const Settings& settings, const EtcdMembers& members,
                                     const std::string& dir)
    : members_(members),
      place_({.dir = dir + "/owner", .name = "owner", .etcd = members.Options(NewPrefix())}) {
  log_ = std::make_shared<MeasuredLog>(place_.OpenLog());
  store_ = place_.Open(log_);
  queue_ = OpenOwned(store_.get());
  follower_ = std::make_unique<FollowerProcess>(
      settings,
      Place{.dir = dir + "/follower", .name = "follower", .etcd = place_.etcd, .candidate = false});
  log_->Take();
}

ReplicatedSubject::~ReplicatedSubject() {
  Require(store_->Close(), "closing the owner");
  follower_->Kill();
  Require(log_->Destroy(/*force=*/true), "deleting the log");
  members_.Compact();
}

void ReplicatedSubject::RequirePending(size_t keys) {
  Require(queue_->Flush(Durability::kReplicated), "Flush");
  RequireEqual(queue_->Len(), keys, "keys in the queue");
  RequireOnDisk(place_.StoreDir(), {.pending = keys}, "the owner's copy");
  follower_->AwaitAll();
  RequireOnDisk(follower_->StoreDir(), {.pending = keys}, "the follower's copy");
}

}  // namespace wq::bench
