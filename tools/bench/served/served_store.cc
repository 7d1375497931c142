#include "tools/bench/served/served_store.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"
#include "wq/live_worker.h"
#include "wq/server.h"

namespace wq::bench {
namespace {

constexpr const char* kServing = "serving";

std::string DurabilityOption(Durability durability) {
  return durability == Durability::kPower     ? "power"
         : durability == Durability::kProcess ? "process"
                                              : "async";
}

// The number in the line "NAME:  NUMBER ..." of a file in /proc.
size_t NumberIn(const std::filesystem::path& path, const std::string& name) {
  std::ifstream file(path);
  if (!file.is_open()) {
    return 0;  // Of a thread that has ended.
  }
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoul(line.substr(name.size() + 1));
    }
  }
  Require(false, name + " is not in " + path.string());
  return 0;
}

bool IsTimerThread(const std::filesystem::path& task) {
  std::string name;
  std::getline(std::ifstream(task / "comm"), name);
  return name == "grpc_global_tim" || name == "timer_manager";
}

}  // namespace

ServedStore::ServedStore(const Settings& settings, const std::string& dir, Durability durability)
    : dir_(dir),
      child_(settings.program, {"--here", "--scenario", "server-child", "--dir", dir,
                                "--durability", DurabilityOption(durability)}) {
  Require(child_.ReadLine() == kServing, "the server did not start");
}

void ServerChild(Bench& bench) {
  const Settings& settings = bench.settings();
  const Subject subject = Subject::Open(
      settings.dir, {.durability = settings.durability.value_or(Durability::kProcess)});
  std::unique_ptr<wq::Server> server;
  Require(wq::Server::Open(subject.store.get(), {.control_socket = true}, &server), "Server::Open");
  std::printf("%s\n", kServing);
  std::fflush(stdout);
  for (;;) {  // Until it is killed.
    pause();
  }
}

std::unique_ptr<LiveStore> ServedStore::Connect() const {
  std::unique_ptr<LiveStore> client;
  Require(LiveStore::Connect(dir_, &client), "LiveStore::Connect");
  return client;
}

std::string ServedStore::ProcFolder() const { return "/proc/" + std::to_string(child_.pid()); }

size_t ServedStore::PrivateBytes() const {
  return NumberIn(ProcFolder() + "/status", "RssAnon") << 10;
}

size_t ServedStore::ResidentBytes() const {
  return NumberIn(ProcFolder() + "/status", "VmRSS") << 10;
}

size_t ServedStore::VoluntarySwitches(bool timers) const {
  size_t switches = 0;
  for (const auto& task : std::filesystem::directory_iterator(ProcFolder() + "/task")) {
    if (IsTimerThread(task) == timers) {
      switches += NumberIn(task.path() / "status", "voluntary_ctxt_switches");
    }
  }
  return switches;
}

void AddUnary(const LiveStore& client, const Keys& keys, Durability durability, size_t batch_size) {
  const std::unique_ptr<QueueAccess> queue = client.Access(kQueueName, false);
  std::vector<std::string_view> batch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.push_back(keys[i]);
    if (batch.size() == batch_size || i + 1 == keys.size()) {
      BatchResult result;
      Require(queue->Add(batch, {.durability = durability}, {}, &result), "Add through the server");
      RequireEqual(result.added, batch.size(), "keys added through the server");
      batch.clear();
    }
  }
}

void WorkAll(const LiveStore& client, size_t count, uint32_t capacity) {
  std::unique_ptr<LiveWorker> worker;
  Require(client.Work(kQueueName, {.name = "wqbench", .capacity = capacity}, &worker), "Work");
  AssignedKey key;
  for (size_t i = 0; i < count; ++i) {
    Require(worker->Get(&key), "Get of a worker");
    if (i + 1 < count) {
      worker->AnswerLater(key.token, WorkAnswer::Done());
    } else {  // The answers before it have taken effect when it has.
      Require(worker->Answer(key.token, WorkAnswer::Done()), "Answer");
    }
  }
}

}  // namespace wq::bench
