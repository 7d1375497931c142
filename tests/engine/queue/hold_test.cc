// How long calls hold a queue's lock: those that read never in proportion to its keys, groups,
// lanes, limits or cursors, those that change many keys not in proportion to the keys.

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/hold_watch.h"
#include "tests/engine/queue/queue_fixture.h"
#include "wq/queue.h"
#include "wq/queue_access.h"

namespace wq {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kHoldQueued = 100'000;
constexpr size_t kHoldQuarantined = 50'000;

// A hold is measured in processor time, so other processes do not count. Sanitizers do.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr milliseconds kMostHeld{20};
#else
constexpr milliseconds kMostHeld{1};
#endif

// The longest hold of the lock in a call. It is the shortest of a few runs, as an interrupt counts
// to the time of the thread that it finds; `undo` is not measured.
std::chrono::nanoseconds LongestHold(
    HoldWatch* watch, std::chrono::nanoseconds most, const std::function<void()>& call,
    const std::function<void()>& undo = [] {}) {
  std::chrono::nanoseconds longest = std::chrono::hours(1);
  for (int run = 0; run < 5 && longest >= most; ++run) {
    watch->Reset();
    call();
    longest = std::min(longest, watch->Longest());
    undo();
  }
  return longest;
}

struct HoldCase {
  const char* name;
  QueueOptions options;
  size_t groups;
  size_t lanes = 1;
};

class HoldTest : public QueueTest, public ::testing::WithParamInterface<HoldCase> {
 protected:
  HoldTest() {
    QueueOptions options = GetParam().options;
    options.durability = Durability::kAsync;
    CloseAndOpen(options);
    Fill();
  }
  ~HoldTest() override { store_ = nullptr; }  // Before the watch.

  void Fill() {
    std::vector<std::string> names;
    for (size_t i = 0; i < kHoldQueued; ++i) {
      names.push_back("default/pod-" + std::to_string(i));
    }
    for (const std::string& key : names) {
      AddOptions add;
      const size_t n = static_cast<size_t>(&key - names.data());
      std::string group;
      if (GetParam().groups > 0) {
        group = "group " + std::to_string(n % GetParam().groups);
        add.group = group;
      }
      if (GetParam().lanes > 1) {
        add.lane = static_cast<Lane>(n % GetParam().lanes);
      }
      ASSERT_TRUE(queue_->Add(key, add).ok());
    }
    const std::string error(900, 'e');
    for (size_t i = 0; i < kHoldQuarantined; ++i) {
      ASSERT_TRUE(queue_->Quarantine("default/bad-" + std::to_string(i), error).ok());
    }
    for (int i = 0; i < 2000; ++i) {
      ASSERT_TRUE(queue_->SetCursor("cursor-" + std::to_string(i), std::string(1000, 'c')).ok());
    }
  }

  // Calls that read, by name.
  std::map<std::string, std::function<void()>> Calls() {
    const std::string last = "default/pod-" + std::to_string(kHoldQueued - 1);
    return {
        {"Len", [this] { EXPECT_EQ(queue_->Len(), kHoldQueued); }},
        {"Counts", [this] { EXPECT_EQ(queue_->Counts().quarantined, kHoldQuarantined); }},
        {"List", [this] { EXPECT_EQ(queue_->List().size(), kMaxListed); }},
        {"PositionOf",
         [this, last] {
           size_t position = 0;
           EXPECT_TRUE(queue_->PositionOf(last, &position).ok());
         }},
        {"Scan",
         [this] {
           size_t keys = 0;
           EXPECT_TRUE(queue_->Scan([&keys](const KeyInfo&) { return ++keys > 0; }).ok());
           EXPECT_EQ(keys, kHoldQueued + kHoldQuarantined);
         }},
        {"Inspect",
         [this, last] { EXPECT_TRUE(queue_->Inspect(last, [](const KeyInfo&) {}).ok()); }},
        {"NumRequeues", [this, last] { queue_->NumRequeues(last); }},
        {"AddedAgain", [this, last] { queue_->AddedAgain(last); }},
        {"CausesOf",
         [this, last] {
           Causes causes;
           EXPECT_TRUE(queue_->CausesOf(last, &causes).ok());
         }},
        {"IsQuarantined", [this, last] { EXPECT_FALSE(queue_->IsQuarantined(last)); }},
        {"Quarantined", [this] { EXPECT_EQ(queue_->Quarantined().size(), kHoldQuarantined); }},
        {"Cursors", [this] { EXPECT_EQ(queue_->Cursors().size(), 2000U); }},
    };
  }
  HoldWatch watch_;
};

TEST_P(HoldTest, NoReadingHoldsTheLockForLong) {
  for (const auto& [name, call] : Calls()) {
    const auto longest = LongestHold(&watch_, kMostHeld, call);
    EXPECT_GT(longest.count(), 0) << name;
    EXPECT_LT(longest, kMostHeld) << name << ": " << longest.count() / 1000 << " us";
    RecordProperty(name, std::to_string(longest.count() / 1000) + " us");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Orders, HoldTest,
    ::testing::Values(HoldCase{"Fifo", {}, 0}, HoldCase{"Shards", {.shards = 8}, 0},
                      HoldCase{"Lanes", {.order = Order::kPriorities}, 0, kHoldQueued},
                      HoldCase{"Fair", {.order = Order::kFair}, kHoldQueued / 2},
                      HoldCase{
                          "GroupLimits", {.group_limits = {.max_processing = 1}}, kHoldQueued / 2}),
    [](const auto& info) { return info.param.name; });

// --- Calls that change many long keys ---

class LongKeysHoldTest : public QueueTest {
 protected:
  static constexpr size_t kLongKeys = 300;
  static constexpr milliseconds kMostHeldByChanges = 2 * kMostHeld;

  LongKeysHoldTest() {
    CloseAndOpen({.max_key_bytes = kMaxKeyBytes});
    for (size_t i = 0; i < kLongKeys; ++i) {
      keys_.push_back(std::to_string(1000 + i) + std::string(kMaxKeyBytes - 4, 'k'));
    }
    views_.assign(keys_.begin(), keys_.end());
  }
  ~LongKeysHoldTest() override { store_ = nullptr; }  // Before the watch.

  void ExpectShortHolds(const std::function<void()>& call, const std::function<void()>& undo) {
    const auto longest = LongestHold(&watch_, kMostHeldByChanges, call, undo);
    EXPECT_LT(longest, kMostHeldByChanges) << longest.count() / 1000 << " us";
  }
  void AddAll() {
    BatchResult result;
    ASSERT_TRUE(queue_->AddBatch(views_, {}, &result).ok());
    EXPECT_EQ(result.added, kLongKeys);
  }
  void TakeAll() {
    std::vector<HeldKey> held;
    ASSERT_TRUE(queue_->TryGet(SIZE_MAX, &held).ok());
    ASSERT_EQ(held.size(), kLongKeys);
    EXPECT_EQ(held.back().key, keys_.back());
  }
  void EachKey(const std::function<Status(const std::string&)>& change) {
    for (const std::string& key : keys_) {
      const Status s = change(key);
      ASSERT_TRUE(s.ok()) << s.ToString();
    }
  }

  HoldWatch watch_;
  std::vector<std::string> keys_;
  std::vector<std::string_view> views_;
};

TEST_F(LongKeysHoldTest, OfAddBatch) {
  ExpectShortHolds([this] { AddAll(); },
                   [this] { EachKey([this](const auto& key) { return queue_->Remove(key); }); });
}

TEST_F(LongKeysHoldTest, OfTryGet) {
  AddAll();
  ExpectShortHolds([this] { TakeAll(); },
                   [this] { EachKey([this](const auto& key) { return queue_->PutBack(key); }); });
}

TEST_F(LongKeysHoldTest, OfDelaysThatEnd) {
  const auto delay = [this] {
    EachKey([this](const auto& key) { return queue_->AddAfter(key, std::chrono::seconds(1)); });
  };
  const auto remove = [this] { EachKey([this](const auto& key) { return queue_->Remove(key); }); };
  delay();
  ExpectShortHolds(
      [this] {
        clock_.Advance(std::chrono::seconds(2));
        EXPECT_EQ(queue_->Len(), kLongKeys);
      },
      [&] {
        remove();
        delay();
      });
}

// Two keys of one shard are never taken together, and the worker serves thousands of them.
TEST(ManyShardsHoldTest, OfTryGet) {
  HoldWatch watch;
  const QueueInMemory queue({.shards = kMaxShards});  // Ends before the watch.
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(queue->Add("key " + std::to_string(i)).ok());
  }
  std::unique_ptr<Worker> worker;
  ASSERT_TRUE(queue->Join(&worker).ok());
  std::vector<HeldKey> held;
  const auto longest = LongestHold(
      &watch, 10 * kMostHeld, [&] { ASSERT_TRUE(worker->TryGet(SIZE_MAX, &held).ok()); },
      [&] {
        for (const HeldKey& key : std::exchange(held, {})) {
          ASSERT_TRUE(queue->PutBack(key.key).ok());
        }
      });
  EXPECT_LT(longest, 10 * kMostHeld) << longest.count() / 1000 << " us";
}

}  // namespace
}  // namespace wq
