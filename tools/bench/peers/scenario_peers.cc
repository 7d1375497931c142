// peers: other queues beside wq, at comparable durability.

#include <algorithm>
#include <array>

#include "tools/bench/peers/peer.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/served/served_store.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kInFlight = 100;

constexpr const char* kNotComparable =
    "Differences: a peer is a server, as \"wq server\" is. Each of its calls crosses a socket and\n"
    "two switches of process; a call of \"wq\", the library, does not. So \"1 client\" measures\n"
    "the socket as much as the queue, and \"100 in flight\" rather the queue. Peers are reached\n"
    "over TCP on loopback, the server of wq over its unix socket: put by 1 client is Add of one\n"
    "key, 100 in flight is Add of 100 keys, take is a worker of capacity 100.\n"
    "Neither peer deduplicates keys: a key that is put twice is stored twice. beanstalkd is\n"
    "measured with -b; -f 50 syncs its file every 50 ms, -f 0 at each write. Redis is measured\n"
    "with an append file, synced every second or at each write; its take is LMOVE and LREM, so\n"
    "that a key is not lost with its worker.";

// The settings of the peers that are comparable to a durability, and their names in the figures.
struct Level {
  PeerSync sync;
  Durability durability;
  const char* beanstalkd;
  const char* redis;
};
constexpr std::array<Level, 2> kLevels = {{
    {PeerSync::kSoon, Durability::kProcess, "beanstalkd -b -f 50", "redis everysec"},
    {PeerSync::kEachWrite, Durability::kPower, "beanstalkd -b -f 0", "redis always"},
}};

// The keys of one level: those that are put one by one, and then those that are put 100 at a time.
struct Puts {
  Puts(const Settings& settings, Durability durability)
      : single(Count(settings.keys, durability, 20, 500), settings.seed),
        pipelined(Count(settings.keys, durability, 5, 50), settings.seed, single.size()) {}

  static size_t Count(size_t keys, Durability durability, size_t process_part, size_t power_part) {
    return std::max<size_t>(keys / (durability == Durability::kPower ? power_part : process_part),
                            1);
  }

  const Keys single;
  const Keys pipelined;
};

std::string PutFigure(const std::string& name, size_t in_flight) {
  return name + ", put, " + (in_flight == 1 ? "1 client" : "100 in flight");
}
std::string TakeFigure(const std::string& name, size_t in_flight = 1) {
  return name + ", take, " + (in_flight == 1 ? "1 client" : "100 in flight");
}
std::string ServerName(Durability durability) {
  return std::string("wq server ") + DurabilityName(durability);
}

void MeasurePeer(Bench& bench, const std::string& name, const Puts& puts, PeerSync sync,
                 Peer* peer) {
  const Stopwatch single;
  peer->PutAll(puts.single, 1);
  bench.Note(PutFigure(name, 1), kPerSecond, Rate(puts.single.size(), single.Seconds()));
  const Stopwatch pipelined;
  peer->PutAll(puts.pipelined, kInFlight);
  bench.Note(PutFigure(name, kInFlight), kPerSecond,
             Rate(puts.pipelined.size(), pipelined.Seconds()));
  RequireEqual(peer->Len(), puts.single.size() + puts.pipelined.size(), name + ": keys");
  if (sync == PeerSync::kEachWrite) {
    return;  // A take is not comparable: Done of wq does not wait for the disk.
  }
  const Stopwatch taking;
  for (size_t i = 0; i < puts.single.size(); ++i) {
    peer->Take(1);
  }
  bench.Note(TakeFigure(name), kPerSecond, Rate(puts.single.size(), taking.Seconds()));
  RequireEqual(peer->Len(), puts.pipelined.size(), name + ": keys left");
  const Stopwatch taking_many;
  for (size_t left = puts.pipelined.size(); left > 0;) {
    const size_t count = std::min(left, kInFlight);
    peer->Take(count);
    left -= count;
  }
  bench.Note(TakeFigure(name, kInFlight), kPerSecond,
             Rate(puts.pipelined.size(), taking_many.Seconds()));
  RequireEqual(peer->Len(), 0, name + ": keys left");
}

void AddBatches(Queue* queue, const Keys& keys, Durability durability) {
  std::vector<std::string_view> batch;
  for (size_t i = 0; i < keys.size(); ++i) {
    batch.push_back(keys[i]);
    if (batch.size() == kInFlight || i + 1 == keys.size()) {
      Require(queue->AddBatch(batch, {.durability = durability}), "AddBatch");
      batch.clear();
    }
  }
}

void MeasureQueue(Bench& bench, const Puts& puts, Durability durability, const std::string& dir) {
  const std::string name = std::string("wq ") + DurabilityName(durability);
  const Subject subject = Subject::Open(dir, {.durability = durability});
  const Stopwatch single;
  AddAll(subject.queue, puts.single, durability);
  bench.Note(PutFigure(name, 1), kPerSecond, Rate(puts.single.size(), single.Seconds()));
  const Stopwatch pipelined;
  AddBatches(subject.queue, puts.pipelined, durability);
  bench.Note(PutFigure(name, kInFlight), kPerSecond,
             Rate(puts.pipelined.size(), pipelined.Seconds()));
  RequireOnDisk(dir, {.pending = puts.single.size() + puts.pipelined.size()}, "after the puts");
  if (durability == Durability::kPower) {
    return;
  }
  const Stopwatch taking;
  DrainAll(subject.queue, puts.single.size());
  Require(subject.queue->Flush(durability), "Flush");
  bench.Note(TakeFigure(name), kPerSecond, Rate(puts.single.size(), taking.Seconds()));
  RequireOnDisk(dir, {.pending = puts.pipelined.size()}, "after the takes");
}

void MeasureServer(Bench& bench, const Puts& puts, Durability durability, const std::string& dir) {
  const std::string name = ServerName(durability);
  const ServedStore served(bench.settings(), dir, durability);
  const std::unique_ptr<LiveStore> client = served.Connect();
  const Stopwatch single;
  AddUnary(*client, puts.single, durability, 1);
  bench.Note(PutFigure(name, 1), kPerSecond, Rate(puts.single.size(), single.Seconds()));
  const Stopwatch pipelined;
  AddUnary(*client, puts.pipelined, durability, kInFlight);
  bench.Note(PutFigure(name, kInFlight), kPerSecond,
             Rate(puts.pipelined.size(), pipelined.Seconds()));
  const size_t keys = puts.single.size() + puts.pipelined.size();
  RequireOnDisk(dir, {.pending = keys}, "after the puts");
  if (durability == Durability::kPower) {
    return;
  }
  const Stopwatch taking;
  WorkAll(*client, keys, kInFlight);
  Require(client->Access(kQueueName, false)->Flush(durability), "Flush");
  bench.Note(TakeFigure(name, kInFlight), kPerSecond, Rate(keys, taking.Seconds()));
  RequireOnDisk(dir, {}, "after the takes");
}

void CompareServer(Bench& bench, const Level& level) {
  const std::string name = ServerName(level.durability);
  const auto want = [&](const std::string& what, const std::string& peer,
                        const std::string& against, std::optional<double> bound) {
    bench.Want(
        {.what = what, .figure = what, .against = against, .compared_with = peer, .bound = bound});
  };
  for (const std::string peer : {level.beanstalkd, level.redis}) {
    const std::optional<double> bound =
        peer == level.beanstalkd ? std::optional<double>(1) : std::nullopt;
    for (const size_t in_flight : {size_t{1}, kInFlight}) {
      want(PutFigure(name, in_flight), peer, PutFigure(peer, in_flight), bound);
    }
    if (level.sync == PeerSync::kSoon) {
      want(TakeFigure(name, kInFlight), peer, TakeFigure(peer, kInFlight), bound);
    }
  }
}

void CompareLevel(Bench& bench, const Level& level) {
  const std::string name = std::string("wq ") + DurabilityName(level.durability);
  for (const std::string peer : {level.beanstalkd, level.redis}) {
    for (const size_t in_flight : {size_t{1}, kInFlight}) {
      bench.Want({.what = PutFigure(name, in_flight),
                  .figure = PutFigure(name, in_flight),
                  .against = PutFigure(peer, in_flight),
                  .compared_with = peer});
    }
    if (level.sync == PeerSync::kSoon) {
      bench.Want(
          {.what = TakeFigure(name), .figure = TakeFigure(name), .against = TakeFigure(peer)});
    }
  }
}

}  // namespace

void Peers(Bench& bench) {
  std::vector<std::unique_ptr<Puts>> puts;
  std::vector<Bench::Subject> subjects;
  for (const Level& level : kLevels) {
    puts.push_back(std::make_unique<Puts>(bench.settings(), level.durability));
    const Puts& some = *puts.back();
    subjects.push_back([&](const std::string& dir) {
      MeasurePeer(bench, level.beanstalkd, some, level.sync,
                  StartBeanstalkd(dir, level.sync).get());
    });
    subjects.push_back([&](const std::string& dir) {
      MeasurePeer(bench, level.redis, some, level.sync, StartRedis(dir, level.sync).get());
    });
    subjects.push_back(
        [&](const std::string& dir) { MeasureQueue(bench, some, level.durability, dir); });
    subjects.push_back(
        [&](const std::string& dir) { MeasureServer(bench, some, level.durability, dir); });
    CompareLevel(bench, level);
    CompareServer(bench, level);
  }
  bench.Alternate(subjects);
  bench.Say(kNotComparable);
}

}  // namespace wq::bench
