// Producers, workers, delays, readers, a queue that is closed and deleted again and again, and a
// shutdown at the same time. Run under ThreadSanitizer
// too.
//
// Checked at every hand-out: no other worker holds the key, or another key of its shard. At the
// end: every acknowledged key was handed out after its last Add, or is still in the store.
//
// WQ_SEED picks the seed, WQ_STRESS_ROUNDS the number of rounds.

#include <algorithm>
#include <array>
#include <condition_variable>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/state/group_table.h"
#include "storage/open.h"
#include "storage/records.h"
#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using support::Buffers;
using support::DrawnSizes;
using support::DrawOne;
using support::FromEnvironment;
using support::KeyOf;

constexpr int kKeys = 40;
constexpr size_t kAddsEach = 400;

std::string GroupOf(std::string_view key) { return std::string(key.substr(0, key.find('/'))); }

// The keys that are held, and those that must still be handed out. An Add is recorded before the
// call, so an Add that follows a hand-out is never mistaken for one before it.
class Ledger {
 public:
  explicit Ledger(uint32_t shards) : shards_(shards) {}

  uint64_t WillAdd(const std::string& key) {
    const std::lock_guard lock(mu_);
    return ++version_[key];
  }
  void WasAdded(const std::string& key, uint64_t version) {
    const std::lock_guard lock(mu_);
    acknowledged_[key] = std::max(acknowledged_[key], version);
  }
  void Got(const std::string& key) {
    const std::lock_guard lock(mu_);
    EXPECT_TRUE(held_.insert(key).second) << key << " is held twice";
    if (shards_ > 0) {
      EXPECT_TRUE(shards_held_.insert(ShardOf(GroupOf(key), shards_)).second)
          << "two keys of the shard of " << key;
    }
    seen_[key] = version_[key];
    ++handed_out_;
    changed_.notify_all();
  }
  void WillBeDone(const std::string& key) {
    const std::lock_guard lock(mu_);
    held_.erase(key);
    shards_held_.erase(shards_ > 0 ? ShardOf(GroupOf(key), shards_) : 0);
  }
  // The keys that were not handed out since their last acknowledged Add began.
  std::set<std::string> Owed() {
    const std::lock_guard lock(mu_);
    std::set<std::string> owed;
    for (const auto& [key, version] : acknowledged_) {
      if (seen_[key] < version) {
        owed.insert(key);
      }
    }
    return owed;
  }
  // Waits until more keys than `than` were handed out, or the round is over. Returns how many.
  uint64_t AwaitHandedOut(uint64_t than) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return over_ || handed_out_ > than; });
    return handed_out_;
  }
  void End() {
    const std::lock_guard lock(mu_);
    over_ = true;
    changed_.notify_all();
  }
  bool over() {
    const std::lock_guard lock(mu_);
    return over_;
  }

 private:
  const uint32_t shards_;
  std::mutex mu_;
  std::map<std::string, uint64_t> version_;       // How often an Add began.
  std::map<std::string, uint64_t> acknowledged_;  // version_ of the last Add that returned Ok.
  std::map<std::string, uint64_t> seen_;          // version_ at the last hand-out.
  std::set<std::string> held_;
  std::set<uint16_t> shards_held_;
  uint64_t handed_out_ = 0;
  bool over_ = false;
  std::condition_variable changed_;  // handed_out_ or over_.
};

enum class Where : uint8_t { kMemory, kMaps, kFiles };

struct Setup {
  const char* name;
  QueueOptions options;
  Where where;
};
void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

class ConcurrencyTest : public ::testing::TestWithParam<Setup> {
 protected:
  void Open() {
    StoreOptions store{.create_if_missing = true};
    buffers_.ApplyTo(&store);
    const Status s = GetParam().where == Where::kMemory ? Store::OpenInMemory(store, &store_)
                     : GetParam().where == Where::kFiles
                         ? Store::Open(store, *root_ / "store", &store_)
                         : Store::Impl::Open(
                               store, "", std::make_unique<storage::MemoryStorage>(disk_), &store_);
    ASSERT_TRUE(s.ok()) << s.ToString();
    QueueOptions options = GetParam().options;
    options.group_of = GroupOf;
    options.limiter = std::make_shared<ItemExponentialFailure>(microseconds(50), milliseconds(1));
    ASSERT_TRUE(store_->OpenQueue("q", options, &queue_).ok());
  }

  void Produce(uint64_t seed) {
    std::mt19937_64 random(seed);
    DrawnSizes sizes(random(), {.batch_keys = kAddsEach / 2});
    for (size_t i = 0; i < kAddsEach;) {
      AddOptions options;
      options.durability = static_cast<Durability>(random() % 3);
      std::vector<std::string> keys;
      std::vector<uint64_t> versions;
      for (size_t n = random() % 8 == 0 ? sizes.BatchKeys() : 1; n > 0; --n) {
        const uint64_t number = random() % kKeys;
        keys.push_back("g" + std::to_string(random() % 7) + "/" +
                       KeyOf(number, number % 4 == 0 ? long_key_bytes_ : 1));
        versions.push_back(ledger_->WillAdd(keys.back()));
      }
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      const Status s = keys.size() > 1 ? queue_->AddBatch(views, options)
                       : random() % 4 == 0
                           ? queue_->AddAfter(keys[0], microseconds(random() % 300), options)
                           : queue_->Add(keys[0], options);
      if (!s.ok()) {
        EXPECT_EQ(s.code(), StatusCode::kShuttingDown) << s.ToString();
        return;
      }
      for (size_t n = 0; n < keys.size(); ++n) {
        ledger_->WasAdded(keys[n], versions[n]);
      }
      i += keys.size();
    }
  }

  void Work(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::unique_ptr<Worker> worker;
    if (GetParam().options.shards > 0) {
      ASSERT_TRUE(queue_->Join(&worker).ok());
    }
    for (;;) {
      std::string key;
      const microseconds timeout(random() % 200);
      const Status s =
          worker != nullptr ? worker->GetFor(timeout, &key) : queue_->GetFor(timeout, &key);
      if (s.code() == StatusCode::kShuttingDown) {
        return;
      }
      if (!s.ok()) {
        ASSERT_EQ(s.code(), StatusCode::kTimedOut) << s.ToString();
        if (worker != nullptr && random() % 4 == 0) {
          worker.reset();  // Leaves and joins again.
          ASSERT_TRUE(queue_->Join(&worker).ok());
        }
        continue;
      }
      ledger_->Got(key);
      if (random() % 5 == 0) {
        const Status failed = queue_->AddRateLimited(key, "again");
        EXPECT_TRUE(failed.ok()) << failed.ToString();
      } else {
        EXPECT_TRUE(queue_->Forget(key).ok());
      }
      static_cast<void>(queue_->AddedAgain(key));
      ledger_->WillBeDone(key);
      EXPECT_TRUE(queue_->Done(key).ok());
    }
  }

  // Closes, deletes and opens another queue, each time with other options.
  void Reopen(uint64_t seed) {
    std::mt19937_64 random(seed);
    DrawnSizes sizes(random(), {.batch_keys = 1000});
    size_t keys = 0;
    while (!ledger_->over()) {
      Queue* queue = nullptr;
      const QueueOptions options{.order = static_cast<Order>(random() % 2),
                                 .shards = static_cast<uint32_t>(random() % 3)};
      ASSERT_TRUE(store_->OpenQueue("other", options, &queue).ok());
      ASSERT_EQ(queue->Len(), keys) << "after an opening";
      std::vector<std::string> names;
      for (size_t n = sizes.BatchKeys(); n > 0; --n) {
        names.push_back(KeyOf(keys++, sizes.KeyBytes()));
      }
      ASSERT_TRUE(queue->AddBatch(std::vector<std::string_view>(names.begin(), names.end())).ok());
      ASSERT_TRUE(store_->CloseQueue(queue).ok());
      if (random() % 4 == 0) {
        ASSERT_TRUE(store_->DeleteQueue("other").ok());
        keys = 0;
      }
    }
  }

  // The keys that the store has as pending or delayed.
  std::set<std::string> Stored() {
    std::unique_ptr<storage::Reader> disk = std::make_unique<storage::MemoryStorage>(disk_);
    if (GetParam().where == Where::kFiles) {
      EXPECT_TRUE(storage::OpenReader(*root_ / "store", &disk).ok());
    }
    std::set<std::string> keys;
    EXPECT_TRUE(storage::ScanPending(*disk, 1, [&keys](const storage::PendingRecord& r) {
                  return keys.emplace(r.key).second;
                }).ok());
    EXPECT_TRUE(storage::ScanDelayed(*disk, 1, [&keys](const storage::DelayedRecord& r) {
                  keys.emplace(r.key);
                  return true;
                }).ok());
    return keys;
  }

  // Looks after each hand-out.
  void Watch() {
    for (uint64_t seen = 0; !ledger_->over(); seen = ledger_->AwaitHandedOut(seen)) {
      const QueueCounts counts = queue_->Counts();
      EXPECT_LE(counts.processing, 4U);
      static_cast<void>(queue_->List(3));
      static_cast<void>(queue_->NumRequeues("g0/k0"));
    }
  }

  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
  // Of each round.
  std::shared_ptr<storage::MemoryDisk> disk_;
  std::optional<support::ScratchDirectory> root_;
  Buffers buffers_;
  size_t long_key_bytes_ = 0;  // Of one key in four.
};

TEST_P(ConcurrencyTest, NoKeyIsHeldTwiceAndNoKeyIsLost) {
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_STRESS_ROUNDS", 30);
  std::cout << "seed: WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  for (uint64_t round = 0; round < rounds; ++round) {
    ledger_ = std::make_unique<Ledger>(GetParam().options.shards);
    disk_ = std::make_shared<storage::MemoryDisk>();
    root_.emplace();
    buffers_ = Buffers::Draw(&random);
    long_key_bytes_ = DrawOne(&random, std::array<size_t, 4>{1, 1, 1000, 4000});
    SCOPED_TRACE("round " + std::to_string(round) + ", " + buffers_.ToString() +
                 ", one key in four has " + std::to_string(long_key_bytes_) + " bytes");
    Open();
    std::vector<std::thread> producers;
    std::vector<std::thread> workers;
    std::thread watcher([this] { Watch(); });
    std::thread reopener([this, s = random()] {
      if (GetParam().where != Where::kMemory) Reopen(s);  // There a closed queue loses its keys.
    });
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([this, s = random()] { Work(s); });
    }
    for (int i = 0; i < 2; ++i) {
      producers.emplace_back([this, s = random()] { Produce(s); });
    }
    // One round in three is stopped at a random point; in the others all keys are processed.
    const bool cut = round % 3 == 2;
    if (cut) {
      const uint64_t until = random() % kKeys;  // Fewer than the round's hand-outs.
      for (uint64_t seen = 0; seen < until;) {
        seen = ledger_->AwaitHandedOut(seen);
      }
      queue_->Stop();
    }
    for (std::thread& thread : producers) {
      thread.join();
    }
    if (!cut) {
      EXPECT_TRUE(support::Eventually([&] {
        const QueueCounts counts = queue_->Counts();
        return counts.queued + counts.processing + counts.delayed == 0;
      }));
      EXPECT_TRUE(queue_->ShutDownWithDrain(std::chrono::hours(1)).ok());
      EXPECT_TRUE(ledger_->Owed().empty());
    }
    for (std::thread& thread : workers) {
      thread.join();
    }
    ledger_->End();
    watcher.join();
    reopener.join();
    ASSERT_TRUE(store_->Close().ok());
    store_.reset();
    if (GetParam().where != Where::kMemory) {
      const std::set<std::string> stored = Stored();
      for (const std::string& key : ledger_->Owed()) {
        EXPECT_TRUE(stored.contains(key)) << key << " is lost";
      }
    }
  }
}

// Workers that wait without a deadline while delays come due: if one wake-up is lost, no other
// follows, and the round never ends.
TEST(BlockingGet, NoWakeUpIsLost) {
  const uint64_t seed = support::Seed();
  std::cout << "seed: WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const QueueInMemory in_memory(
        {.limiter = std::make_shared<ItemExponentialFailure>(microseconds(20), milliseconds(1))});
    Queue* const queue = in_memory.queue;
    const uint64_t keys = 1 + random() % 20;
    for (uint64_t i = 0; i < keys; ++i) {
      ASSERT_TRUE(queue->Add("k" + std::to_string(i)).ok());
    }
    std::vector<std::thread> workers;
    for (uint64_t w = 0; w < 2 + random() % 3; ++w) {
      workers.emplace_back([queue] {
        std::string key;
        while (queue->Get(&key).ok()) {
          if (queue->NumRequeues(key) < 3) {
            EXPECT_TRUE(queue->AddRateLimited(key).ok());
          }
          EXPECT_TRUE(queue->Done(key).ok());
          const QueueCounts counts = queue->Counts();
          if (counts.queued + counts.processing + counts.delayed == 0) {
            queue->Stop();
          }
        }
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
    EXPECT_EQ(queue->Counts().failing, keys);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Setups, ConcurrencyTest,
    ::testing::Values(Setup{"Memory", {.order = Order::kFifo}, Where::kMemory},
                      Setup{"TwoLanes", {.order = Order::kTwoLanes}, Where::kMaps},
                      Setup{"Fair", {.order = Order::kFair}, Where::kMaps},
                      Setup{"Shards", {.order = Order::kTwoLanes, .shards = 5}, Where::kMaps},
                      Setup{"Files", {.order = Order::kTwoLanes}, Where::kFiles}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq
