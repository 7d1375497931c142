// Scenario server: a store in a process of its own, used through its control socket; and the owner
// of a store beside a client that misbehaves, and beside open pages.

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files.h"
#include "server/net/socket.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/served/errors.h"
#include "tools/bench/served/open_pages.h"
#include "tools/bench/served/served_store.h"
#include "tools/bench/subjects.h"
#include "wq/live_worker.h"
#include "wq/server.h"

namespace wq::bench {
namespace {

constexpr size_t kServedBatch = 1000;
constexpr uint32_t kWorkCapacity = 100;
constexpr size_t kIdleWorkers = 1000;
constexpr std::string_view kNoiseQueue = "noise";
constexpr size_t kOpenPages = 50;

std::string AddFigure(const std::string& subject, Durability durability) {
  return subject + " " + DurabilityName(durability);
}

// --- Adds ---

double TimeLibraryBatches(const Keys& keys, Durability durability, const std::string& dir) {
  const Subject subject = Subject::Open(dir, {.durability = durability});
  std::vector<std::string_view> batch;
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.push_back(keys[i]);
    if (batch.size() == kServedBatch || i + 1 == keys.size()) {
      Require(subject.queue->AddBatch(batch, {.durability = durability}), "AddBatch");
      batch.clear();
    }
  }
  const double seconds = watch.Seconds();
  RequireOnDisk(dir, {.pending = keys.size()}, "after AddBatch");
  return seconds;
}

// The seconds of `add` on a store that is served; all keys must be on disk after it.
template <typename Add>
double TimeServedAdds(const Settings& settings, const Keys& keys, Durability durability,
                      const std::string& dir, Add&& add) {
  const ServedStore served(settings, dir, durability);
  const std::unique_ptr<LiveStore> client = served.Connect();
  const Stopwatch watch;
  add(*client);
  const double seconds = watch.Seconds();
  RequireOnDisk(dir, {.pending = keys.size()}, "after Adds through the server");
  return seconds;
}

void MeasureBatches(Bench& bench, Durability durability) {
  const Keys keys(bench.settings().keys / (durability == Durability::kPower ? 4 : 1),
                  bench.settings().seed);
  const auto note = [&](const std::string& subject, double seconds) {
    bench.Note(AddFigure(subject, durability), kPerSecond, Rate(keys.size(), seconds));
  };
  bench.Alternate({
      [&](const std::string& dir) {
        note("library AddBatch", TimeLibraryBatches(keys, durability, dir));
      },
      [&](const std::string& dir) {
        note("server Add",
             TimeServedAdds(bench.settings(), keys, durability, dir, [&](const LiveStore& client) {
               AddUnary(client, keys, durability, kServedBatch);
             }));
      },
  });
  const std::string what = std::string("server: Add of 1000 keys, ") + DurabilityName(durability);
  const std::string figure = AddFigure("server Add", durability);
  bench.Want({.what = what, .figure = figure, .bound = 300'000});
  bench.Want({.what = what,
              .figure = figure,
              .against = AddFigure("library AddBatch", durability),
              .compared_with = "AddBatch of the library",
              .bound = 0.5});
}

void MeasureSingles(Bench& bench) {
  const Keys keys(std::max<size_t>(bench.settings().keys / 50, 1), bench.settings().seed);
  const std::string figure = "server: Add of one key, kProcess";
  bench.Alternate({[&](const std::string& dir) {
    const double seconds = TimeServedAdds(
        bench.settings(), keys, Durability::kProcess, dir,
        [&](const LiveStore& client) { AddUnary(client, keys, Durability::kProcess, 1); });
    bench.Note(figure, kPerSecond, Rate(keys.size(), seconds));
  }});
  bench.Want({.what = figure, .figure = figure, .bound = 5'000});
}

// --- Workers ---

void MeasureWork(Bench& bench) {
  const Keys keys(std::max<size_t>(bench.settings().keys / 5, 1), bench.settings().seed);
  const std::string figure = "server: life cycles, capacity 100";
  bench.Alternate({[&](const std::string& dir) {
    const ServedStore served(bench.settings(), dir, Durability::kProcess);
    const std::unique_ptr<LiveStore> client = served.Connect();
    AddUnary(*client, keys, Durability::kProcess, kServedBatch);
    const Stopwatch watch;
    WorkAll(*client, keys.size(), kWorkCapacity);
    Require(client->Access(kQueueName, false)->Flush(Durability::kProcess), "Flush");
    bench.Note(figure, kPerSecond, Rate(keys.size(), watch.Seconds()));
    RequireOnDisk(dir, {}, "after the work");
  }});
  bench.Want({.what = figure, .figure = figure, .bound = 60'000});
}

// From the call of Add by one client to the return of Get of another, with nothing else to do.
void MeasureAssignments(Bench& bench) {
  const Keys keys(std::max<size_t>(bench.settings().keys / 500, 1), bench.settings().seed);
  bench.Alternate({[&](const std::string& dir) {
    const ServedStore served(bench.settings(), dir, Durability::kProcess);
    const std::unique_ptr<LiveStore> adder = served.Connect();
    const std::unique_ptr<LiveStore> client = served.Connect();
    std::unique_ptr<LiveWorker> worker;
    Require(client->Work(kQueueName, {.name = "wqbench"}, &worker), "Work");
    const std::unique_ptr<QueueAccess> queue = adder->Access(kQueueName, false);
    std::vector<double> latencies;
    Stopwatch watch;
    std::binary_semaphore answered(0);
    std::thread getting([&] {
      AssignedKey key;
      for (size_t i = 0; i < keys.size(); ++i) {
        Require(worker->Get(&key), "Get of a worker");
        latencies.push_back(watch.Seconds() * 1e6);
        Require(worker->Answer(key.token, WorkAnswer::Done()), "Answer");
        answered.release();
      }
    });
    for (size_t i = 0; i < keys.size(); ++i) {
      BatchResult result;
      const std::string_view key = keys[i];
      watch = Stopwatch();
      Require(queue->Add({&key, 1}, {.durability = Durability::kProcess}, {}, &result), "Add");
      answered.acquire();
    }
    getting.join();
    std::sort(latencies.begin(), latencies.end());
    bench.Note("server: Add to assignment, p50", kMicroseconds, latencies[latencies.size() / 2]);
    bench.Note("server: Add to assignment, p99", kMicroseconds,
               latencies[latencies.size() * 99 / 100]);
  }});
  bench.Want({.what = "server: Add to assignment, p50",
              .figure = "server: Add to assignment, p50",
              .at_most = true,
              .bound = 300});
  bench.Want({.what = "server: Add to assignment, p99",
              .figure = "server: Add to assignment, p99",
              .against = "server: Add to assignment, p50",
              .compared_with = "p50",
              .at_most = true});
}

// --- Idle workers ---

double Mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// Each connection costs the server, and this process, two descriptors; the server uses at most half
// of those that it may have.
void AllowDescriptors(size_t workers) {
  rlimit limit{};
  Require(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
  const rlim_t needed = 4 * workers + 1000;
  if (limit.rlim_cur < needed) {
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    Require(setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == needed,
            "RLIMIT_NOFILE is too low for the idle workers");
  }
}

void MeasureIdleWorkers(Bench& bench) {
  const size_t workers = std::clamp<size_t>(bench.settings().keys / 100, 1, kIdleWorkers);
  const int milliseconds =
      static_cast<int>(std::clamp<size_t>(bench.settings().keys / 500, 1, 2000));
  const std::string what = "server: " + std::to_string(workers) + " idle workers";
  const std::string wake_ups =
      what + ", wake-ups in " + std::to_string(milliseconds) + " ms, without gRPC's timers";
  const std::string timer_wake_ups = what + ", wake-ups of gRPC's timers";
  const std::string memory = what + ", memory";
  const std::string resident = memory + " with mapped files and libraries";
  AllowDescriptors(workers);
  bench.Alternate({[&](const std::string& dir) {
    const ServedStore served(bench.settings(), dir, Durability::kProcess);
    std::vector<std::unique_ptr<LiveStore>> clients;
    std::vector<std::unique_ptr<LiveWorker>> working(workers);
    for (std::unique_ptr<LiveWorker>& worker : working) {
      clients.push_back(served.Connect());
      Require(
          clients.back()->Work(kQueueName, {.name = "wqbench", .capacity = kWorkCapacity}, &worker),
          "Work");
    }
    poll(nullptr, 0, milliseconds);  // Not a wait for an event: until the server's threads wait.
    const size_t others = served.VoluntarySwitches(false);
    const size_t timers = served.VoluntarySwitches(true);
    poll(nullptr, 0, milliseconds);
    bench.Note(wake_ups, kTimes, static_cast<double>(served.VoluntarySwitches(false) - others));
    bench.Note(timer_wake_ups, kTimes,
               static_cast<double>(served.VoluntarySwitches(true) - timers));
    bench.Note(memory, kMebibytes, Mebibytes(served.PrivateBytes()));
    bench.Note(resident, kMebibytes, Mebibytes(served.ResidentBytes()));
    std::vector<LiveWorkerInfo> known;
    Require(clients.front()->Workers(kQueueName, &known), "Workers");
    RequireEqual(known.size(), workers, "connected workers");
  }});
  bench.Want({.what = wake_ups, .figure = wake_ups, .at_most = true, .bound = 0});
  bench.Want({.what = timer_wake_ups,
              .figure = timer_wake_ups,
              .at_most = true,
              .bound = 2 * (milliseconds / 1000 + 1)});  // Two threads, once a second each.
  bench.Want({.what = memory, .figure = memory, .at_most = true, .bound = 50});
  bench.Want({.what = resident,
              .figure = resident,
              .against = memory,
              .compared_with = "its own memory",
              .at_most = true});
}

// --- The owner ---

// The owner's own work: batches of Adds, each followed by Get and Done of its keys.
double OwnerRate(Queue* queue, const Keys& keys) {
  std::vector<std::string_view> batch;
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.push_back(keys[i]);
    if (batch.size() == kServedBatch || i + 1 == keys.size()) {
      Require(queue->AddBatch(batch, {.durability = Durability::kProcess}), "AddBatch");
      DrainAll(queue, batch.size());
      batch.clear();
    }
  }
  return Rate(keys.size(), watch.Seconds());
}

// The rate of the owner of a store that is served, while what `beside` returns exists.
template <typename Beside>
double OwnerRateBeside(const std::string& dir, const Keys& keys, const Beside& beside) {
  const Subject subject = Subject::Open(dir);
  Queue* noise_queue = nullptr;
  Require(subject.store->OpenQueue(kNoiseQueue, {}, &noise_queue), "opening the queue");
  std::unique_ptr<wq::Server> server;
  Require(wq::Server::Open(subject.store.get(),
                           {.control_socket = true, .http_address = "127.0.0.1:0", .page = true},
                           &server),
          "Server::Open");
  [[maybe_unused]] const auto others = beside(*server);
  const double rate = OwnerRate(subject.queue, keys);
  RequireEqual(subject.queue->Len(), 0, "keys left");
  return rate;
}

void MeasureOwner(Bench& bench) {
  const Keys keys(bench.settings().keys, bench.settings().seed);
  const std::string alone = "owner alone";
  const std::string noisy = "owner beside a noisy client";
  const std::string pages = "owner beside " + std::to_string(kOpenPages) + " open pages";
  const auto note = [&](const std::string& figure, const std::string& dir, const auto& beside) {
    bench.Note(figure, kPerSecond, OwnerRateBeside(dir, keys, beside));
  };
  bench.AlternateTwice(
      {[&](const std::string& dir) { note(alone, dir, [](const wq::Server&) { return nullptr; }); },
       [&](const std::string& dir) {
         note(noisy, dir, [&](const wq::Server&) {
           auto child = std::make_unique<Child>(
               bench.settings().program,
               std::vector<std::string>{"--here", "--scenario", "noise-child", "--dir", dir});
           Require(child->ReadLine() == "noise", "the noisy client did not start");
           return child;
         });
       },
       [&](const std::string& dir) {
         note(pages, dir, [](const wq::Server& server) {
           return std::make_unique<OpenPages>(static_cast<uint16_t>(server.http_port()),
                                              kOpenPages);
         });
       }});
  const auto want = [&](const std::string& figure, const std::string& without, double bound) {
    bench.Want({.what = "server: the owner's AddBatch, Get, Done",
                .figure = figure,
                .against = alone,
                .compared_with = without,
                .bound = bound});
  };
  want(noisy, "without the noisy client", 0.8);
  want(pages, "without open pages", 0.9);
}

}  // namespace

// A client of the store in --dir that makes the server work without effect, until it is killed:
// bytes that are no request, a request that is longer than the server accepts, a queue that does
// not exist, and a worker that takes a thousand keys and disconnects.
void NoiseChild(Bench& bench) {
  const std::string& dir = bench.settings().dir;
  SocketFile file;
  Require(OpenSocketFile(dir, "control.sock", &file), "the socket");
  std::unique_ptr<LiveStore> client;
  Require(LiveStore::Connect(dir, &client), "LiveStore::Connect");
  const Keys keys(kServedBatch, 1);
  const std::string long_key(size_t{5} << 20, 'x');  // A request has at most 4 MiB.
  const std::vector<std::string_view> long_keys = {long_key};
  const AddOptions async{.durability = Durability::kAsync};
  std::vector<std::string_view> batch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.push_back(keys[i]);
  }
  std::printf("noise\n");
  std::fflush(stdout);
  for (;;) {
    FileDescriptor garbage(-1);
    Require(ConnectToFile(file, &garbage), "a connection");
    constexpr std::string_view kGarbage = "\x01\x02garbage\r\n\r\n";
    static_cast<void>(send(garbage.get(), kGarbage.data(), kGarbage.size(), MSG_NOSIGNAL));
    BatchResult result;
    Require(!client->Access(kNoiseQueue, false)->Add(long_keys, async, {}, &result).ok(),
            "a request that is too long was accepted");
    Require(!client->Access("missing", false)->Add(batch, async, {}, &result).ok(),
            "a queue that does not exist was found");
    Require(client->Access(kNoiseQueue, false)->Add(batch, async, {}, &result), "Add");
    std::unique_ptr<LiveWorker> worker;
    Require(client->Work(kNoiseQueue, {.name = "noise", .capacity = 1000}, &worker), "Work");
    AssignedKey key;
    Require(worker->Get(&key), "Get of a worker");
  }
}

void Serving(Bench& bench) {
  MeasureBatches(bench, Durability::kProcess);
  MeasureBatches(bench, Durability::kPower);
  MeasureSingles(bench);
  MeasureWork(bench);
  MeasureAssignments(bench);
  MeasureIdleWorkers(bench);
  MeasureErrors(bench);
  MeasureOwner(bench);
}

}  // namespace wq::bench
