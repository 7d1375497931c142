// Rows of the scenario replication: what Adds cost at kReplicated, beside what bare etcd takes; at
// kProcess, beside a store without replication; and how far a follower is behind.

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <span>

#include "tools/bench/keys.h"
#include "tools/bench/replication/bare.h"
#include "tools/bench/replication/measured_log.h"
#include "tools/bench/replication/parts.h"
#include "tools/bench/replication/replicas.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

constexpr size_t kBatch = 1000;
constexpr size_t kManyThreads = 16;
// An Add of these keys in a batch, before the batch is compressed: what bare etcd would take.
constexpr size_t kAddBytes = 55;
constexpr size_t kSmallValue = 100;
constexpr size_t kBurst = 50'000;  // They fit into the process log.
constexpr size_t kLagRate = 20'000;
constexpr size_t kLagSeconds = 5;
constexpr double kLeastLagMs = 0.001;

constexpr const char* kBareSmall = "bare etcd: a small transaction alone, p50";
constexpr const char* kAlone = "replication: Add alone, kReplicated, p50";
constexpr const char* kBareShared = "bare etcd's small transactions, 16 Adds in each";

// A way to add, and how many keys it adds in a round.
struct Way {
  std::string what;
  size_t threads;
  size_t batch;
  size_t keys;

  std::string Figure() const { return "replication: " + what; }
  std::string Bare() const { return "bare etcd's blobs as Adds, " + what; }
};

std::vector<Way> Ways(size_t keys) {
  return {{"Add by 16 threads, kReplicated", kManyThreads, 1, std::max<size_t>(keys / 50, 1)},
          {"AddBatch of 1000 by 1 thread, kReplicated", 1, kBatch, keys},
          {"AddBatch of 1000 by 2 threads, kReplicated", 2, kBatch, keys}};
}

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  return bytes;
}

std::string BytesFigure(const Way& way) { return "bytes in the log, " + way.what; }
std::string SharedFigure(const Way& way) { return "Adds of an entry, " + way.what; }

// How many bytes and entries of the log the Adds took.
std::string SharedText(const Bench& bench, const Way& way) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), ": %.1f bytes in the log for an Add, %.1f Adds an entry",
                SpreadOf(bench.Find(BytesFigure(way)).values).median,
                SpreadOf(bench.Find(SharedFigure(way)).values).median);
  return way.Figure() + text.data();
}

double Median(std::vector<double> values) { return SpreadOf(std::move(values)).median; }

// --- Bare etcd ---

// Bytes a second as blobs of the largest size that an entry has.
double BareBytesPerSecond(const Settings& settings, const EtcdMembers& members) {
  const size_t count = std::max<size_t>(settings.keys * kAddBytes / kMaxLogEntryBytes, 20);
  const std::string blob = RandomBytes(kMaxLogEntryBytes, settings.seed);
  BareEtcd bare(members, NewPrefix());
  const Stopwatch watch;
  for (size_t i = 0; i < count; ++i) {
    bare.Put(blob);
  }
  const double rate = Rate(count * blob.size(), watch.Seconds());
  RequireEqual(bare.Count(), count, "blobs in etcd");
  return rate;
}

double BareSmallMicroseconds(const Settings& settings, const EtcdMembers& members, size_t count) {
  const std::string value = RandomBytes(kSmallValue, settings.seed);
  BareEtcd bare(members, NewPrefix());
  std::vector<double> latencies;
  for (size_t i = 0; i < count; ++i) {
    const Stopwatch watch;
    bare.Put(value);
    latencies.push_back(watch.Seconds() * 1e6);
  }
  RequireEqual(bare.Count(), count, "values in etcd");
  return Median(std::move(latencies));
}

// --- kReplicated ---

struct Adds {
  double per_second = 0;
  double bytes_each = 0;    // In the log.
  double entries_each = 0;  // Entries of the log for each Add.
};

Adds TimeReplicatedAdds(const Settings& settings, const EtcdMembers& members, const Way& way,
                        const std::string& dir) {
  const Keys keys(way.keys, settings.seed);
  ReplicatedSubject subject(settings, members, dir);
  const Stopwatch watch;
  InThreads(way.threads, [&](size_t thread) {
    const auto [begin, end] = Slice(keys.size(), way.threads, thread);
    AddBatches(subject.queue(), keys, begin, end, way.batch, Durability::kReplicated);
  });
  const double seconds = watch.Seconds();
  const MeasuredLog::Appended appended = subject.log()->Take();
  subject.RequirePending(keys.size());
  const auto count = static_cast<double>(keys.size());
  return {.per_second = Rate(keys.size(), seconds),
          .bytes_each = static_cast<double>(appended.bytes) / count,
          .entries_each = static_cast<double>(appended.entries.size()) / count};
}

double AloneMicroseconds(const Settings& settings, const EtcdMembers& members, size_t count,
                         const std::string& dir) {
  const Keys keys(count, settings.seed);
  ReplicatedSubject subject(settings, members, dir);
  std::vector<double> latencies;
  for (size_t i = 0; i < count; ++i) {
    const Stopwatch watch;
    Require(subject.queue()->Add(keys[i], {.durability = Durability::kReplicated}), "Add");
    latencies.push_back(watch.Seconds() * 1e6);
  }
  subject.RequirePending(count);
  return Median(std::move(latencies));
}

// --- Lag ---

// Adds all keys, kLagRate of them a second. Returns how many a second it was.
double AddAtRate(Queue* queue, const Keys& keys) {
  constexpr size_t kEachTime = kLagRate / 1000;
  const auto begin = std::chrono::steady_clock::now();
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % kEachTime == 0) {
      const auto due = begin + std::chrono::milliseconds(i / kEachTime);
      while (std::chrono::steady_clock::now() < due) {  // The pace, and not a wait for an event.
        poll(nullptr, 0, 1);
      }
    }
    Require(queue->Add(keys[i], {.durability = Durability::kProcess}), "Add");
  }
  return Rate(keys.size(), watch.Seconds());
}

// For each entry: from its acknowledgement to the instant at which the follower has it. Where the
// follower was faster than the answer to the owner, it is kLeastLagMs.
std::vector<double> LagsMs(std::span<const MeasuredLog::Acknowledged> entries,
                           std::span<const FollowerProcess::Applied> applied) {
  std::vector<double> lags;
  size_t at = 0;
  for (const MeasuredLog::Acknowledged& entry : entries) {
    while (at < applied.size() && applied[at].sequence < entry.sequence) {
      ++at;
    }
    Require(at < applied.size(), "the follower lacks an entry");
    lags.push_back(
        std::max(kLeastLagMs, static_cast<double>(applied[at].at_ns - entry.at_ns) / 1e6));
  }
  std::sort(lags.begin(), lags.end());
  return lags;
}

}  // namespace

void MeasureReplicatedAdds(Bench& bench, const EtcdMembers& members) {
  const Settings& settings = bench.settings();
  const size_t calls = std::max<size_t>(settings.keys / 2000, 10);
  const std::vector<Way> ways = Ways(settings.keys);
  double bare_bytes = 0;  // A second, in this round.
  double bare_small = 0;
  std::vector<Bench::Subject> subjects = {[&](const std::string&) {
    bare_bytes = BareBytesPerSecond(settings, members);
    bare_small = BareSmallMicroseconds(settings, members, calls);
    bench.Note(kBareSmall, kMicroseconds, bare_small);
    bench.Note(kBareShared, kPerSecond, kManyThreads * 1e6 / bare_small);
    bench.Note("bare etcd's blobs of 64 KiB", kPerSecond,
               bare_bytes / static_cast<double>(kMaxLogEntryBytes));
  }};
  for (const Way& way : ways) {
    subjects.emplace_back([&, way](const std::string& dir) {
      const Adds adds = TimeReplicatedAdds(settings, members, way, dir);
      bench.Note(way.Figure(), kPerSecond, adds.per_second);
      bench.Note(way.Bare(), kPerSecond, bare_bytes / kAddBytes);
      bench.Note(BytesFigure(way), kBytes, adds.bytes_each);
      bench.Note(SharedFigure(way), kTimes, 1 / adds.entries_each);
    });
  }
  subjects.emplace_back([&](const std::string& dir) {
    bench.Note(kAlone, kMicroseconds, AloneMicroseconds(settings, members, calls, dir));
  });
  bench.Alternate(subjects);
  for (const Way& way : ways) {
    bench.Want({.what = way.Figure(),
                .figure = way.Figure(),
                .against = way.Bare(),
                .compared_with = "bare etcd, blobs of 64 KiB",
                .bound = 0.6});
    bench.Want({.what = way.Figure(), .figure = way.Figure(), .bound = 200'000});
    bench.Say(SharedText(bench, way));
  }
  bench.Want({.what = ways[0].Figure(),
              .figure = ways[0].Figure(),
              .against = kBareShared,
              .compared_with = "bare etcd, 16 Adds a small transaction"});
  bench.Want({.what = kAlone,
              .figure = kAlone,
              .against = kBareSmall,
              .compared_with = "a transaction of bare etcd",
              .at_most = true,
              .bound = 1.2});
}

void MeasureLocalAdds(Bench& bench, const EtcdMembers& members) {
  const Settings& settings = bench.settings();
  const Keys all(settings.keys, settings.seed);
  const Keys burst(std::min(kBurst, settings.keys), settings.seed);
  std::vector<Bench::Subject> subjects;
  for (const Keys* const keys : {&burst, &all}) {
    const std::string what =
        keys == &burst ? "Add, kProcess, a burst of 50 000" : "Add, kProcess, without a pause";
    const std::string figure = "replication: " + what;
    const std::string alone = "not replicated: " + what;
    subjects.emplace_back([&bench, keys, alone](const std::string& dir) {
      const Subject subject = Subject::Open(dir);
      const Stopwatch watch;
      AddAll(subject.queue, *keys, Durability::kProcess);
      bench.Note(alone, kPerSecond, Rate(keys->size(), watch.Seconds()));
      RequireOnDisk(dir, {.pending = keys->size()}, "after Adds at kProcess");
    });
    subjects.emplace_back([&bench, &members, keys, figure](const std::string& dir) {
      ReplicatedSubject subject(bench.settings(), members, dir);
      const Stopwatch watch;
      AddAll(subject.queue(), *keys, Durability::kProcess);
      bench.Note(figure, kPerSecond, Rate(keys->size(), watch.Seconds()));
      subject.RequirePending(keys->size());
    });
    bench.Want({.what = figure,
                .figure = figure,
                .against = alone,
                .compared_with = "a store that is not replicated",
                .bound = 0.7});
  }
  bench.Alternate(subjects);
}

void MeasureLag(Bench& bench, const EtcdMembers& members) {
  const Settings& settings = bench.settings();
  const Keys keys(std::min(settings.keys, kLagRate * kLagSeconds), settings.seed);
  const std::string lag = "replication: the follower's lag at 20 000 Adds/s, ";
  const std::string rate = "replication: Adds during the lag's measurement";
  bench.Alternate({[&](const std::string& dir) {
    ReplicatedSubject subject(settings, members, dir);
    bench.Note(rate, kPerSecond, AddAtRate(subject.queue(), keys));
    Require(subject.queue()->Flush(Durability::kReplicated), "Flush");
    const MeasuredLog::Appended appended = subject.log()->Take();
    const std::vector<double> lags = LagsMs(appended.entries, subject.follower().AwaitAll());
    Require(!lags.empty(), "no entry was appended");
    bench.Note(lag + "p50", kMilliseconds, lags[lags.size() / 2]);
    bench.Note(lag + "p99", kMilliseconds, lags[lags.size() * 99 / 100]);
    subject.RequirePending(keys.size());
  }});
  bench.Want({.what = lag + "p99", .figure = lag + "p99", .at_most = true, .bound = 50});
  bench.Want({.what = lag + "p99",
              .figure = lag + "p99",
              .against = lag + "p50",
              .compared_with = "p50",
              .at_most = true});
  bench.Want({.what = rate, .figure = rate, .bound = 0.95 * kLagRate});
}

}  // namespace wq::bench
