// Many threads on one store, each with calls of its own: single keys and batches, workers, queues
// that are closed, deleted and opened again with other options, readers beside the owner. The sizes
// of the keys and the batches, the buffers of the store and the kinds of the threads are drawn for
// each round.
//
// Nothing fails here, so every call returns Ok; and when the threads have ended, and again after
// the store was closed and opened, each queue has exactly what its calls have left.
//
// WQ_SEED is the seed, WQ_TRAFFIC_ROUNDS the number of rounds. The order of the threads is
// the machine's: repeat a run that does not fail at once.

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/snapshot.h"
#include "wq/store.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using support::Buffers;
using support::DrawnSizes;
using support::DrawOne;
using support::FromEnvironment;
using support::KeyOf;
using support::Packed;

// What a queue has of each key: "queued" or "delayed".
using Contents = std::map<std::string, std::string>;

Contents ContentsOf(const Queue& queue) {
  Contents contents;
  const Status s = queue.Scan([&contents](const KeyInfo& key) {
    std::string& text = contents[std::string(key.key)];
    text += key.queued ? "queued" : "";
    text += key.processing ? "processing" : "";
    text += key.delayed ? "delayed" : "";
    return true;
  });
  EXPECT_TRUE(s.ok()) << s.ToString();
  return contents;
}

// Fails the test, with the first few differences.
void ExpectContents(const std::string& queue, const Contents& found, const Contents& expected) {
  if (found == expected) {
    return;
  }
  int shown = 0;
  for (const auto& [key, state] : expected) {
    const auto it = found.find(key);
    if ((it == found.end() || it->second != state) && ++shown < 4) {
      ADD_FAILURE() << queue << ": " << Packed(key) << " is "
                    << (it == found.end() ? "lost" : it->second) << ", not " << state;
    }
  }
  for (const auto& [key, state] : found) {
    if (!expected.contains(key) && ++shown < 4) {
      ADD_FAILURE() << queue << ": " << Packed(key) << " is there, " << state;
    }
  }
  ADD_FAILURE() << queue << " has " << found.size() << " keys, not " << expected.size();
}

// One thread of a round. All its keys begin with its number, so nobody else adds or removes them.
class Actor {
 public:
  Actor(Store* store, std::string name, uint64_t seed, size_t key_bytes)
      : store_(store),
        name_(std::move(name)),
        random_(seed),
        sizes_(random_(), {.key_bytes = key_bytes, .total_bytes = size_t{16} << 20}),
        power_in_(DrawOne(&random_, std::array<uint64_t, 3>{10, 50, 500})) {}
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // Called again and again by a thread of its own.
  virtual void Step() = 0;
  virtual std::string ToString() const { return name_ + ": " + sizes_.ToString(); }
  const std::string& name() const { return name_; }
  // Whether a call of this actor has failed; it stops then.
  bool failed() const { return failed_; }
  uint64_t calls() const { return calls_; }

 protected:
  bool Expect(const Status& s, const char* call) {
    ++calls_;
    if (!s.ok()) {
      failed_ = true;
      ADD_FAILURE() << name_ << ", " << call << " number " << calls_ << ": " << s.ToString();
    }
    return s.ok();
  }
  uint64_t Below(uint64_t n) { return random_() % n; }
  std::string NewKey() {
    return name_ + "/" + KeyOf(keys_++, std::min(sizes_.KeyBytes(), longest_key_));
  }
  void BoundKeys(size_t bytes) { longest_key_ = bytes - name_.size() - 1; }
  AddOptions DrawOptions() {
    return {.durability = Below(power_in_) == 0 ? Durability::kPower
                          : Below(3) == 0       ? Durability::kAsync
                                                : Durability::kProcess};
  }
  void AddBatch(Queue* queue, size_t count, Contents* contents) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) {
      keys.push_back(NewKey());
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    BatchResult result;
    if (!Expect(queue->AddBatch(views, DrawOptions(), &result), "AddBatch")) {
      return;
    }
    EXPECT_EQ(result.added, count);
    for (std::string& key : keys) {
      contents->emplace(std::move(key), "queued");
    }
  }

  Store* const store_;
  const std::string name_;
  std::mt19937_64 random_;
  DrawnSizes sizes_;

 private:
  const uint64_t power_in_;  // One call in so many is at kPower.
  size_t longest_key_ = kMaxKeyBytes;
  uint64_t keys_ = 0;
  uint64_t calls_ = 0;
  bool failed_ = false;
};

// Adds keys to a queue that others use as well, delays some and removes some.
class Adder final : public Actor {
 public:
  // `number`: that of the queue.
  Adder(Store* store, std::string name, uint64_t seed, Queue* queue, size_t number,
        size_t key_bytes)
      : Actor(store, std::move(name), seed, key_bytes),
        queue_(queue),
        number_(number),
        batches_(Below(2) == 0) {}

  void Step() override {
    const uint64_t pick = Below(20);
    if (pick == 0 && !contents_.empty()) {
      const auto it = contents_.begin();
      const bool queued = it->second == "queued";
      if (Expect(queued ? queue_->Remove(it->first) : queue_->CancelDelay(it->first), "Remove")) {
        contents_.erase(it);
      }
    } else if (pick < 3) {
      const std::string key = NewKey();
      if (Expect(queue_->AddAfter(key, 1h, DrawOptions()), "AddAfter")) {
        contents_[key] = "delayed";
      }
    } else if (batches_ && Below(2) == 0) {
      AddBatch(queue_, sizes_.BatchKeys(), &contents_);
    } else {
      const std::string key = NewKey();
      if (Expect(queue_->Add(key, DrawOptions()), "Add")) {
        contents_[key] = "queued";
      }
    }
  }
  std::string ToString() const override {
    return Actor::ToString() + (batches_ ? ", in batches" : "");
  }
  size_t number() const { return number_; }
  const Contents& contents() const { return contents_; }

 private:
  Queue* const queue_;
  const size_t number_;
  const bool batches_;
  Contents contents_;  // Its own keys.
};

// Adds keys to a queue, and processes keys of any actor.
class Laborer final : public Actor {
 public:
  Laborer(Store* store, std::string name, uint64_t seed, Queue* queue, size_t key_bytes)
      : Actor(store, std::move(name), seed, key_bytes), queue_(queue) {}

  void Step() override {
    if (Below(2) == 0) {
      AddBatch(queue_, 1 + Below(4), &added_);
      return;
    }
    std::vector<HeldKey> held;
    const Status s = queue_->TryGet(1 + Below(3), &held);
    if (s.code() != StatusCode::kTimedOut) {
      Expect(s, "TryGet");
    }
    for (const HeldKey& key : held) {
      if (Below(8) == 0) {
        Expect(queue_->PutBack(key.key), "PutBack");
        continue;
      }
      if (Below(8) == 0 && Expect(queue_->AddRateLimited(key.key, "an error"), "AddRateLimited") &&
          Expect(queue_->Forget(key.key), "Forget")) {
        Expect(queue_->CancelDelay(key.key), "CancelDelay");
      }
      if (Expect(queue_->Done(key.key), "Done")) {
        done_.push_back(key.key);
      }
    }
  }
  const Contents& added() const { return added_; }
  const std::vector<std::string>& done() const { return done_; }

 private:
  Queue* const queue_;
  Contents added_;
  std::vector<std::string> done_;
};

// Closes, deletes and opens a queue of its own, each time with other options, and looks whether it
// has its keys.
class Opener final : public Actor {
 public:
  Opener(Store* store, std::string name, uint64_t seed)
      : Actor(store, std::move(name), seed, 4096) {}

  void Step() override {
    if (queue_ == nullptr) {
      Open();
    } else if (Below(12) == 0 || contents_.size() > 20'000) {
      Close(/*deletes=*/Below(3) == 0 || contents_.size() > 20'000);
    } else {
      AddBatch(queue_, sizes_.BatchKeys(), &contents_);
      MoveOneToALane();
    }
  }
  const Contents& contents() const { return contents_; }

 private:
  // Of each opening: all lanes or few, shards, and shorter keys than the queue has.
  void Open() {
    constexpr std::array kOrders = {Order::kPriorities, Order::kTwoLanes, Order::kFifo};
    QueueOptions options{.order = DrawOne(&random_, kOrders),
                         .shards = Below(2) == 0 ? 0 : 1 + static_cast<uint32_t>(Below(5)),
                         .max_key_bytes = Below(2) == 0 ? size_t{64} : size_t{4096}};
    BoundKeys(max_key_bytes_ = options.max_key_bytes);
    if (!Expect(store_->OpenQueue(name_, options, &queue_), "OpenQueue")) {
      return;
    }
    lanes_ = options.order == Order::kPriorities;
    EXPECT_EQ(queue_->Len(), contents_.size()) << name_ << " lost keys over an opening";
    if (Below(4) == 0) {
      ExpectContents(name_, ContentsOf(*queue_), contents_);
    }
  }
  void Close(bool deletes) {
    if (!Expect(store_->CloseQueue(std::exchange(queue_, nullptr)), "CloseQueue")) {
      return;
    }
    if (deletes && Expect(store_->DeleteQueue(name_), "DeleteQueue")) {
      contents_.clear();
    }
  }
  // The next opening may not have the lane.
  void MoveOneToALane() {
    if (lanes_ && !contents_.empty() && contents_.begin()->first.size() <= max_key_bytes_) {
      const Lane lane = static_cast<Lane>(Below(9)) - 4;
      Expect(queue_->Add(contents_.begin()->first, {.lane = lane}), "Add to a lane");
    }
  }

  Queue* queue_ = nullptr;
  bool lanes_ = false;
  size_t max_key_bytes_ = 0;
  Contents contents_;
};

// Reads beside the owner.
class Watcher final : public Actor {
 public:
  Watcher(Store* store, std::string name, uint64_t seed, std::string snapshots)
      : Actor(store, std::move(name), seed, 1), snapshots_(std::move(snapshots)) {}

  void Step() override {
    if (Below(2) == 0) {
      SnapshotInfo info;
      if (Expect(CreateSnapshot(store_->dir(), snapshots_, {}, &info), "CreateSnapshot")) {
        std::filesystem::remove_all(info.path);
      }
      return;
    }
    VerifyReport report;
    if (Expect(Verify(store_->dir(), {}, &report), "Verify")) {
      EXPECT_TRUE(report.ok()) << report.findings[0].where << ": " << report.findings[0].what;
    }
  }

 private:
  const std::string snapshots_;
};

// A directory on a disk, where syncs and flushes take their time.
class DiskDirectory {
 public:
  DiskDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "wq-traffic-XXXXXX").string();
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~DiskDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DiskDirectory(const DiskDirectory&) = delete;
  DiskDirectory& operator=(const DiskDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The parameter: whether the store has a process log.
class TrafficTest : public ::testing::TestWithParam<bool> {
 protected:
  void Round(uint64_t seed);
  void Open();
  void DrawActors(std::mt19937_64* random);
  void Play();
  void ExpectAll(const char* when);
  template <typename A>
  std::vector<A*> All() const {
    std::vector<A*> all;
    for (const auto& actor : actors_) {
      if (auto* const one = dynamic_cast<A*>(actor.get())) {
        all.push_back(one);
      }
    }
    return all;
  }

  static constexpr size_t kQueues = 3;  // The last one is that of the laborers.
  static constexpr int kSteps = 50;     // Of each actor; a watcher watches until the others end.
  std::unique_ptr<DiskDirectory> root_;
  StoreOptions options_;
  std::array<size_t, kQueues> key_bytes_ = {};
  std::unique_ptr<Store> store_;
  std::array<Queue*, kQueues> queues_ = {};
  std::vector<std::unique_ptr<Actor>> actors_;
  uint64_t calls_ = 0;
};

void TrafficTest::Open() {
  ASSERT_TRUE(Store::Open(options_, *root_ / "store", &store_).ok());
  for (size_t q = 0; q < kQueues; ++q) {
    const QueueOptions options{.max_key_bytes = key_bytes_[q],
                               .limiter = std::make_shared<ItemExponentialFailure>(1h, 1h)};
    const Status s = store_->OpenQueue("q" + std::to_string(q), options, &queues_[q]);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
}

// Two to twelve threads. The first two are adders: without traffic nothing is found.
void TrafficTest::DrawActors(std::mt19937_64* random) {
  const uint64_t count = 2 + (*random)() % 11;
  const bool others = (*random)() % 4 != 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    const uint64_t seed = (*random)();
    // Behind the `name/` of a key.
    const auto bytes = [&](size_t queue) { return key_bytes_[queue] - name.size() - 1; };
    const uint64_t kind = i < 2 || !others ? 0 : (*random)() % 5;
    if (kind < 2) {
      const size_t queue = (*random)() % (kQueues - 1);
      actors_.push_back(
          std::make_unique<Adder>(store_.get(), name, seed, queues_[queue], queue, bytes(queue)));
    } else if (kind == 2) {
      actors_.push_back(std::make_unique<Laborer>(store_.get(), name, seed, queues_[kQueues - 1],
                                                  bytes(kQueues - 1)));
    } else if (kind == 3) {
      actors_.push_back(std::make_unique<Opener>(store_.get(), name, seed));
    } else {
      actors_.push_back(
          std::make_unique<Watcher>(store_.get(), name, seed, *root_ / ("snapshots-" + name)));
    }
  }
}

void TrafficTest::Play() {
  std::vector<std::thread> threads;
  std::atomic<size_t> busy = actors_.size() - All<Watcher>().size();
  for (const auto& actor : actors_) {
    threads.emplace_back([&actor, &busy] {
      if (dynamic_cast<Watcher*>(actor.get()) != nullptr) {
        do {
          actor->Step();
        } while (!actor->failed() && busy > 0);
        return;
      }
      for (int step = 0; step < kSteps && !actor->failed(); ++step) {
        actor->Step();
      }
      --busy;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& actor : actors_) {
    calls_ += actor->calls();
  }
}

void TrafficTest::ExpectAll(const char* when) {
  SCOPED_TRACE(when);
  std::array<Contents, kQueues> expected;
  for (size_t q = 0; q + 1 < kQueues; ++q) {
    for (const Adder* adder : All<Adder>()) {
      if (adder->number() == q) {
        expected[q].insert(adder->contents().begin(), adder->contents().end());
      }
    }
  }
  for (const Laborer* laborer : All<Laborer>()) {
    expected[kQueues - 1].insert(laborer->added().begin(), laborer->added().end());
  }
  for (const Laborer* laborer : All<Laborer>()) {
    for (const std::string& key : laborer->done()) {
      EXPECT_EQ(expected[kQueues - 1].erase(key), 1U) << Packed(key) << " was done twice";
    }
  }
  for (size_t q = 0; q < kQueues; ++q) {
    ExpectContents("q" + std::to_string(q), ContentsOf(*queues_[q]), expected[q]);
  }
}

void TrafficTest::Round(uint64_t seed) {
  std::mt19937_64 random(seed);
  root_ = std::make_unique<DiskDirectory>();
  Buffers buffers = Buffers::Draw(&random);
  if (!GetParam()) {
    buffers.process_log_bytes = 0;
  } else if (buffers.process_log_bytes == 0) {
    buffers.process_log_bytes = StoreOptions().process_log_bytes;
  }
  options_ = {.create_if_missing = true};
  buffers.ApplyTo(&options_);
  for (size_t& bytes : key_bytes_) {
    bytes = DrawOne(&random, std::array<size_t, 4>{64, 4096, 4096, kMaxKeyBytes});
  }
  ASSERT_NO_FATAL_FAILURE(Open());
  DrawActors(&random);
  std::string text = buffers.ToString();
  for (const auto& actor : actors_) {
    text += "\n  " + actor->ToString();
  }
  SCOPED_TRACE("WQ_SEED=" + std::to_string(seed) + " WQ_TRAFFIC_ROUNDS=1: " + text);
  std::cout << "WQ_SEED=" << seed << ": " << text << std::endl;  // An abort shows no trace.
  Play();
  EXPECT_TRUE(store_->Health().ok()) << store_->Health().ToString();
  if (!HasFailure()) {
    ExpectAll("beside the store's files");
  }
  EXPECT_TRUE(store_->Close().ok());
  store_.reset();
  ASSERT_NO_FATAL_FAILURE(Open());
  if (!HasFailure()) {
    ExpectAll("after a reopening");
  }
  for (const Opener* opener : All<Opener>()) {
    Queue* queue = nullptr;
    const Status s = store_->OpenQueue(opener->name(), {.order = Order::kPriorities}, &queue);
    ASSERT_TRUE(s.ok()) << s.ToString();
    if (!HasFailure()) {
      ExpectContents(opener->name(), ContentsOf(*queue), opener->contents());
    }
  }
  actors_.clear();
  store_.reset();
}

TEST_P(TrafficTest, NothingIsLostAndNoCallFails) {
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_TRAFFIC_ROUNDS", 4);
  for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    Round(seed + round);
  }
  std::cout << "total: " << calls_ << " calls\n";
}

INSTANTIATE_TEST_SUITE_P(ProcessLog, TrafficTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "With" : "Without"; });

}  // namespace
}  // namespace wq
