// The inbox: each Add leaves it once and in order, and no call of the queue shows a difference.

#include "engine/queue/inbox.h"

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> KeysOf(const InboxAdds& adds) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < adds.size(); ++i) {
    keys.emplace_back(adds[i].key);
  }
  return keys;
}

TEST(Inbox, ReturnsTheOfferedAddsInTheirOrder) {
  Inbox inbox;
  inbox.Open();
  EXPECT_TRUE(inbox.empty());
  ASSERT_TRUE(inbox.Offer({.key = "a", .wall_us = 7}));
  ASSERT_TRUE(inbox.Offer({.key = std::string_view("b\0c", 3), .lane = kSlowLane, .wall_us = 9}));
  EXPECT_FALSE(inbox.empty());
  InboxAdds adds;
  adds.Append({.key = "from an earlier call"});
  inbox.Take(&adds);
  EXPECT_TRUE(inbox.empty());
  EXPECT_THAT(KeysOf(adds), ElementsAre("a", std::string("b\0c", 3)));
  EXPECT_EQ(adds[0].lane, std::nullopt);
  EXPECT_EQ(adds[0].wall_us, 7);
  EXPECT_EQ(adds[1].lane, kSlowLane);
  EXPECT_EQ(adds[1].wall_us, 9);
  inbox.Take(&adds);
  EXPECT_EQ(adds.size(), 0U);
}

TEST(Inbox, RefusesWhileItIsShut) {
  Inbox inbox;
  EXPECT_FALSE(inbox.Offer({.key = "too early"}));
  inbox.Open();
  EXPECT_TRUE(inbox.Offer({.key = "a"}));
  inbox.Shut();
  EXPECT_FALSE(inbox.Offer({.key = "too late"}));
  EXPECT_FALSE(inbox.empty());
  InboxAdds adds;
  inbox.Take(&adds);
  EXPECT_THAT(KeysOf(adds), ElementsAre("a"));
  inbox.Open();
  EXPECT_TRUE(inbox.Offer({.key = "b"}));
}

TEST(Inbox, RefusesAddsWhileItIsFull) {
  Inbox inbox;
  inbox.Open();
  for (size_t i = 0; i < Inbox::kMaxAdds; ++i) {
    ASSERT_TRUE(inbox.Offer({.key = "k"}));
  }
  EXPECT_FALSE(inbox.Offer({.key = "k"}));
  InboxAdds adds;
  inbox.Take(&adds);
  EXPECT_EQ(adds.size(), Inbox::kMaxAdds);
  EXPECT_TRUE(inbox.Offer({.key = std::string(Inbox::kMaxKeyBytes, 'k')}));
  EXPECT_FALSE(inbox.Offer({.key = "k"}));
  inbox.Take(&adds);
  EXPECT_TRUE(inbox.Offer({.key = "k"}));
}

TEST(Inbox, LosesNoAddAmongThreads) {
  constexpr size_t kThreads = 4;
  constexpr size_t kEach = 5000;
  Inbox inbox;
  inbox.Open();
  std::atomic<size_t> offering = kThreads;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < kEach;) {
        if (inbox.Offer({.key = std::to_string(t), .wall_us = static_cast<int64_t>(i)})) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
      --offering;
    });
  }
  std::map<std::string, int64_t, std::less<>> next;
  InboxAdds adds;
  while (offering > 0 || !inbox.empty()) {
    inbox.Take(&adds);
    for (size_t i = 0; i < adds.size(); ++i) {
      ASSERT_EQ(adds[i].wall_us, next[std::string(adds[i].key)]++);
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(next.size(), kThreads);
  for (const auto& [_, count] : next) {
    EXPECT_EQ(count, static_cast<int64_t>(kEach));
  }
}

// --- Through the queue ---

class QueueInboxTest : public QueueTest {
 protected:
  // An Add that may use the inbox.
  void AddAsync(std::string_view key, std::optional<Lane> lane = std::nullopt) {
    const Status s = queue_->Add(key, {.lane = lane, .durability = Durability::kAsync});
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  std::set<std::string> KeysOnDisk() {
    std::set<std::string> keys;
    const storage::MemoryStorage disk(disk_);
    EXPECT_TRUE(storage::ScanPending(disk, 1, [&keys](const storage::PendingRecord& record) {
                  keys.emplace(record.key);
                  return true;
                }).ok());
    return keys;
  }
};

TEST_F(QueueInboxTest, EveryReadingSeesTheAddsBeforeIt) {
  AddAsync("a");
  EXPECT_EQ(queue_->Len(), 1U);
  AddAsync("b");
  EXPECT_EQ(queue_->Counts().adds, 2U);
  AddAsync("c", kSlowLane);
  EXPECT_EQ(queue_->List(0, 9).back().key, "c");
  AddAsync("d", kSlowLane);
  size_t position = 0;
  ASSERT_TRUE(queue_->PositionOf("d", &position).ok());
  EXPECT_EQ(position, 3U);
  ASSERT_EQ(Get(), "a");
  AddAsync("a");
  EXPECT_TRUE(queue_->AddedAgain("a"));
  AddAsync("d", kFastLane);
  EXPECT_EQ(queue_->Counts().lanes.at(kFastLane), 2U);
}

TEST_F(QueueInboxTest, EveryChangeComesAfterTheAddsBeforeIt) {
  AddAsync("a");
  EXPECT_TRUE(queue_->Remove("a").ok());
  AddAsync("b");
  AddOutcome outcome = AddOutcome::kAdded;
  ASSERT_TRUE(queue_->Add("b", {}, &outcome).ok());
  EXPECT_EQ(outcome, AddOutcome::kDeduplicated);
  AddAsync("c");
  BatchResult result;
  ASSERT_TRUE(queue_->AddBatch(std::vector<std::string_view>{"c", "d"}, {}, &result).ok());
  EXPECT_EQ(result.deduplicated, 1U);
  ASSERT_EQ(Get(), "b");
  AddAsync("e");
  AddAsync("b");
  ASSERT_TRUE(queue_->Done("b").ok());  // To the back: behind e.
  AddAsync("f");
  ASSERT_TRUE(queue_->AddAfter("f", std::chrono::seconds(-1)).ok());
  EXPECT_EQ(Get(), "c");
  EXPECT_EQ(Get(), "d");
  EXPECT_EQ(Get(), "e");
  EXPECT_EQ(Get(), "b");
  EXPECT_EQ(Get(), "f");
  EXPECT_EQ(Get(), "TimedOut");
}

TEST_F(QueueInboxTest, AnAddOfAQuarantinedKeyReleasesIt) {
  CloseAndOpen({.quarantined_add = QuarantinedAdd::kRelease});
  ASSERT_TRUE(queue_->Quarantine("a", "broken").ok());
  AddAsync("a");
  EXPECT_FALSE(queue_->IsQuarantined("a"));
  ASSERT_TRUE(queue_->Quarantine("b", "broken").ok());
  AddAsync("b");
  EXPECT_TRUE(queue_->Quarantined().empty());
}

TEST_F(QueueInboxTest, AnAddHasTheTimeOfItsCall) {
  AddAsync("a");
  clock_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(queue_->Flush().ok());
  const storage::MemoryStorage disk(disk_);
  ASSERT_TRUE(storage::ScanPending(disk, 1, [this](const storage::PendingRecord& record) {
                EXPECT_EQ(record.added_at_us, clock_.WallUs() - 3'600'000'000);
                return true;
              }).ok());
}

TEST_F(QueueInboxTest, FlushOfTheQueueOrOfTheStoreWritesTheAdds) {
  AddAsync("a");
  ASSERT_TRUE(queue_->Flush().ok());
  EXPECT_THAT(KeysOnDisk(), ElementsAre("a"));
  AddAsync("b");
  ASSERT_TRUE(store_->Flush().ok());
  EXPECT_THAT(KeysOnDisk(), ElementsAre("a", "b"));
}

// The fixture's flush_interval is an hour.
TEST_F(QueueInboxTest, AddsReachTheDiskWithoutAnotherCall) {
  for (int round = 0; round < 100; ++round) {
    const std::string key = std::to_string(round);
    AddAsync(key);
    while (!KeysOnDisk().contains(key)) {
      std::this_thread::yield();
    }
  }
}

// The Get applies the Adds of the inbox, has nothing to hand out, and waits: the journal must write
// the Adds nevertheless.
TEST_F(QueueInboxTest, AddsReachTheDiskWhileAGetWaits) {
  ASSERT_TRUE(queue_->Pause().ok());
  for (int round = 0; round < 200; ++round) {
    const std::string key = std::to_string(round);
    std::thread get([this] {
      std::string got;
      EXPECT_FALSE(queue_->GetFor(std::chrono::milliseconds(2), &got).ok());
    });
    AddAsync(key);
    while (!KeysOnDisk().contains(key)) {
      std::this_thread::yield();
    }
    get.join();
  }
}

TEST_F(QueueInboxTest, AQueueThatCannotBeOpenedHasNoEffect) {
  Queue* other = nullptr;
  EXPECT_FALSE(store_->OpenQueue("other", {.create_if_missing = false}, &other).ok());
  AddAsync("a");
  EXPECT_EQ(Get(), "a");
}

TEST_F(QueueInboxTest, CloseWritesTheAdds) {
  AddAsync("a");
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_THAT(KeysOnDisk(), ElementsAre("a"));
}

// What survives a crash is a prefix over all queues, so the Adds precede every record of the second
// one.
TEST_F(QueueInboxTest, AddsAreWrittenBeforeASecondQueueIsMade) {
  for (int i = 0; i < 50; ++i) {
    AddAsync(std::to_string(i));
  }
  Queue* other = nullptr;
  ASSERT_TRUE(store_->OpenQueue("other", {}, &other).ok());
  EXPECT_EQ(KeysOnDisk().size(), 50U);
  AddAsync("last");
  ASSERT_TRUE(other->Add("a").ok());
  EXPECT_TRUE(KeysOnDisk().contains("last"));
}

TEST_F(QueueInboxTest, AnAddWakesAWaitingGet) {
  for (int round = 0; round < 200; ++round) {
    std::future<std::string> got = GetInBackground();
    AddAsync("a");
    ASSERT_EQ(got.get(), "a");
    ASSERT_TRUE(queue_->Done("a").ok());
  }
}

TEST_F(QueueInboxTest, ExactlyTheAddsBeforeAShutDownAreQueued) {
  std::atomic<size_t> taken = 0;
  std::thread adds([&] {
    for (size_t i = 0;; ++i) {
      const Status s = queue_->Add("key-" + std::to_string(i), {.durability = Durability::kAsync});
      if (!s.ok()) {
        EXPECT_EQ(s.code(), StatusCode::kShuttingDown) << s.ToString();
        return;
      }
      ++taken;
    }
  });
  while (taken < 1000) {
    std::this_thread::yield();
  }
  queue_->ShutDown();
  adds.join();
  EXPECT_EQ(queue_->Len(), taken);
}

TEST_F(QueueInboxTest, AnAddToAFailedStoreReturnsNotDurable) {
  FailWrites();
  AddAsync("a");
  EXPECT_FALSE(queue_->Flush().ok());
  const Status s = queue_->Add("b", {.durability = Durability::kAsync});
  EXPECT_EQ(s.code(), StatusCode::kNotDurable) << s.ToString();
  EXPECT_EQ(queue_->Len(), 2U) << "it was added nevertheless";
}

// Producers and workers that contend for the lock. Run under ThreadSanitizer too.
TEST_F(QueueInboxTest, EveryKeyIsHandedOutAfterItsLastAdd) {
  constexpr size_t kProducers = 3;
  constexpr size_t kAdds = 4000;
  constexpr size_t kKeys = 50;
  std::vector<std::atomic<size_t>> added(kKeys);
  std::vector<std::atomic<size_t>> seen(kKeys);
  std::atomic<size_t> producing = kProducers;
  std::vector<std::thread> threads;
  for (size_t p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      for (size_t i = 0; i < kAdds; ++i) {
        const size_t key = (i * 7 + p) % kKeys;
        ++added[key];
        AddAsync(std::to_string(key));
      }
      if (--producing == 0) {
        queue_->ShutDown();
      }
    });
  }
  for (int worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&] {
      std::string key;
      while (queue_->Get(&key).ok()) {
        const size_t k = std::stoul(key);
        seen[k] = added[k].load();
        EXPECT_TRUE(queue_->Done(key).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (size_t key = 0; key < kKeys; ++key) {
    EXPECT_EQ(seen[key], added[key]) << "key " << key;
  }
  ASSERT_TRUE(queue_->Flush().ok());
  EXPECT_TRUE(KeysOnDisk().empty());
}

}  // namespace
}  // namespace wq
