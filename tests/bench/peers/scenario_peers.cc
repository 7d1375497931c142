// peers: what people use instead, at comparable durability, beside wq.

#include <algorithm>
#include <array>

#include "tests/bench/peers/peer.h"
#include "tests/bench/scenarios.h"
#include "tests/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kInFlight = 100;

constexpr const char* kNotComparable =
    "What is not comparable: a peer is a server. Each of its calls crosses a socket and two "
    "changes of\n"
    "process, which wq, a library, does not; so 1 client shows the socket as much as the queue, "
    "and\n"
    "100 in flight the queue rather. Neither peer deduplicates keys: a key that is put twice is "
    "there\n"
    "twice. beanstalkd is measured with -b; -f 50 syncs its file every 50 ms, -f 0 at each write. "
    "Redis\n"
    "is measured with an append file, synced every second or at each write; its take is LMOVE and "
    "LREM,\n"
    "so that a key is not lost with its worker. A peer serves clients on other machines, wq does "
    "not.";

// Its names in the figures, and what is comparable to it.
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

// The keys of one level: put one by one, then with many under way.
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

std::string PutFigure(const std::string& who, size_t in_flight) {
  return who + ", put, " + (in_flight == 1 ? "1 client" : "100 in flight");
}
std::string TakeFigure(const std::string& who) { return who + ", take, 1 client"; }

void MeasurePeer(Bench& bench, const std::string& who, const Puts& puts, PeerSync sync,
                 Peer* peer) {
  const Stopwatch single;
  peer->PutAll(puts.single, 1);
  bench.Note(PutFigure(who, 1), kPerSecond, Rate(puts.single.size(), single.Seconds()));
  const Stopwatch pipelined;
  peer->PutAll(puts.pipelined, kInFlight);
  bench.Note(PutFigure(who, kInFlight), kPerSecond,
             Rate(puts.pipelined.size(), pipelined.Seconds()));
  RequireEqual(peer->Len(), puts.single.size() + puts.pipelined.size(), who + ": keys");
  if (sync == PeerSync::kEachWrite) {
    return;  // wq's Done waits for nothing.
  }
  const Stopwatch taking;
  for (size_t i = 0; i < puts.single.size(); ++i) {
    peer->Take();
  }
  bench.Note(TakeFigure(who), kPerSecond, Rate(puts.single.size(), taking.Seconds()));
  RequireEqual(peer->Len(), puts.pipelined.size(), who + ": keys left");
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
  const std::string who = std::string("wq ") + DurabilityName(durability);
  const Subject subject = Subject::Open(dir, {.durability = durability});
  const Stopwatch single;
  AddAll(subject.queue, puts.single, durability);
  bench.Note(PutFigure(who, 1), kPerSecond, Rate(puts.single.size(), single.Seconds()));
  const Stopwatch pipelined;
  AddBatches(subject.queue, puts.pipelined, durability);
  bench.Note(PutFigure(who, kInFlight), kPerSecond,
             Rate(puts.pipelined.size(), pipelined.Seconds()));
  RequireOnDisk(dir, {.pending = puts.single.size() + puts.pipelined.size()}, "after the puts");
  if (durability == Durability::kPower) {
    return;
  }
  const Stopwatch taking;
  DrainAll(subject.queue, puts.single.size());
  Require(subject.queue->Flush(durability), "Flush");
  bench.Note(TakeFigure(who), kPerSecond, Rate(puts.single.size(), taking.Seconds()));
  RequireOnDisk(dir, {.pending = puts.pipelined.size()}, "after the takes");
}

void CompareLevel(Bench& bench, const Level& level) {
  const std::string who = std::string("wq ") + DurabilityName(level.durability);
  for (const std::string peer : {level.beanstalkd, level.redis}) {
    for (const size_t in_flight : {size_t{1}, kInFlight}) {
      bench.Want({.what = PutFigure(who, in_flight),
                  .figure = PutFigure(who, in_flight),
                  .against = PutFigure(peer, in_flight),
                  .compared_with = peer});
    }
    if (level.sync == PeerSync::kSoon) {
      bench.Want({.what = TakeFigure(who), .figure = TakeFigure(who), .against = TakeFigure(peer)});
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
    CompareLevel(bench, level);
  }
  bench.Alternate(subjects);
  bench.Say(kNotComparable);
}

}  // namespace wq::bench
