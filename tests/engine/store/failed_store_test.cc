// A store whose disk fails and works again, without a restart.

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

using FailedStoreTest = QueueTest;

StatusCode Code(const Status& status) { return status.code(); }

TEST_F(FailedStoreTest, AnUntouchedRecordIsNotWrittenAgain) {
  for (int i = 0; i < 100; ++i) {
    Add(std::to_string(i));
  }
  FailWrites();
  EXPECT_EQ(Code(queue_->Add("x")), StatusCode::kNotDurable);
  DiskIsBack();
  const uint64_t syncs = Syncs();
  ASSERT_TRUE(store_->Recover().ok());
  EXPECT_EQ(Syncs(), syncs + 1);  // One batch, synced.
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), 101U);
}

TEST_F(FailedStoreTest, ASequenceIsNotHandedOutTwice) {
  Add("a");
  FailWrites();
  for (int i = 0; i < 20'000; ++i) {  // Past two high-water marks that never reached the disk.
    EXPECT_EQ(Code(queue_->Add(std::to_string(i))), StatusCode::kNotDurable);
  }
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  Crash();
  Add("last");
  std::vector<HeldKey> keys;
  ASSERT_TRUE(queue_->TryGet(SIZE_MAX, &keys).ok());
  ASSERT_EQ(keys.size(), 20'002U);
  EXPECT_EQ(keys.back().key, "last");
}

TEST_F(FailedStoreTest, HealthHasTheCauseTheTimeAndTheAttempts) {
  FailWrites();
  EXPECT_EQ(Code(queue_->Add("a")), StatusCode::kNotDurable);
  EXPECT_EQ(Code(store_->Recover()), StatusCode::kNotDurable);
  OnDisk([](auto& disk) { disk.fail_reopen = true; });
  EXPECT_EQ(Code(store_->Recover()), StatusCode::kNotDurable);
  const Status health = store_->Health();
  EXPECT_EQ(Code(health), StatusCode::kNotDurable);
  EXPECT_THAT(health.message(),
              AllOf(HasSubstr("the store failed earlier"),
                    HasSubstr("not durable since 2023-11-14T22:13:20Z"),
                    HasSubstr("tried to recover 2 times, at last: IOError: the disk is not back"),
                    HasSubstr("next attempt in ")));
  DiskIsBack();
  EXPECT_TRUE(store_->Recover().ok());
  EXPECT_TRUE(store_->Health().ok());
  EXPECT_TRUE(store_->Recover().ok());  // Nothing to do.
}

TEST_F(FailedStoreTest, RecoversByItselfAndNotifiesTheObserverWhichMayCallTheStore) {
  std::promise<Status> failed;
  std::promise<Status> recovered;
  Open({.recovery_backoff_min = milliseconds(1), .on_health = [&](const Status& status) {
          status.ok()
              ? recovered.set_value(queue_->Add("observer's", {.durability = Durability::kPower}))
              : failed.set_value(status);
        }});
  FailWrites();
  EXPECT_EQ(Code(queue_->Add("a")), StatusCode::kNotDurable);
  EXPECT_EQ(Code(failed.get_future().get()), StatusCode::kNotDurable);
  DiskIsBack();
  EXPECT_TRUE(recovered.get_future().get().ok());
  EXPECT_TRUE(store_->Health().ok());
  EXPECT_TRUE(queue_->Add("b").ok());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kDirty), 3U);
}

TEST_F(FailedStoreTest, AQueueIsNotOpenedWhileTheStoreIsFailed) {
  FailWrites();
  Queue* other = nullptr;
  EXPECT_EQ(Code(store_->OpenQueue("other", {}, &other)), StatusCode::kNotDurable);
  EXPECT_EQ(Code(store_->OpenQueue("other", {}, &other)), StatusCode::kNotDurable);
  EXPECT_EQ(store_->QueueNames(), (std::vector<std::string>{"q"}));
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  ASSERT_TRUE(store_->OpenQueue("other", {}, &other).ok());
  EXPECT_TRUE(other->Add("a").ok());
}

TEST_F(FailedStoreTest, AQueueThatCouldNotBeMadeLeavesNoRecord) {
  OnDisk([](auto& disk) {
    disk.fail_after = 0;
    disk.apply_failed = true;
  });
  Queue* other = nullptr;
  EXPECT_EQ(Code(store_->OpenQueue("first", {}, &other)), StatusCode::kNotDurable);
  DiskIsBack();
  ASSERT_TRUE(store_->Recover().ok());
  ASSERT_TRUE(
      store_->OpenQueue("second", {}, &other).ok());  // Has the id that was meant for "first".
  EXPECT_TRUE(other->Add("a").ok());
  Crash();
  EXPECT_EQ(store_->QueueNames(), (std::vector<std::string>{"q", "second"}));
}

TEST_F(FailedStoreTest, CloseRecoversWhatItCan) {
  FailWrites();
  EXPECT_EQ(Code(queue_->Add("a")), StatusCode::kNotDurable);
  DiskIsBack();
  EXPECT_TRUE(store_->Close().ok());
  Open();
  EXPECT_EQ(Get(), "a");
}

TEST_F(FailedStoreTest, CloseOfAStoreThatCannotRecoverReturnsTheErrorEachTime) {
  FailWrites();
  EXPECT_EQ(Code(queue_->Add("a")), StatusCode::kNotDurable);
  EXPECT_EQ(Code(store_->Close()), StatusCode::kNotDurable);
  EXPECT_EQ(Code(store_->Close()), StatusCode::kNotDurable);
  EXPECT_EQ(Code(store_->Recover()), StatusCode::kNotDurable);
}

// Threads make calls while the disk fails and works again. In the end the disk has what memory has.
TEST_F(FailedStoreTest, NothingIsLostWhateverTheThreadsDoWhileFailed) {
  Open({.max_batch_bytes = 2048,
        .recovery_backoff_min = milliseconds(1),
        .recovery_backoff_max = milliseconds(2),
        .on_health = [](const Status&) {}});
  constexpr int kThreads = 4;
  constexpr int kKeys = 1500;
  std::atomic<int> outages = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &outages] {
      std::string key;
      for (int i = 0; i < kKeys || outages < 10; ++i) {
        static_cast<void>(queue_->Add(std::to_string(t) + "/" + std::to_string(i),
                                      {.durability = static_cast<Durability>(i % 3)}));
        if (i % 2 == 0 && queue_->GetFor(std::chrono::microseconds(0), &key).ok()) {
          static_cast<void>(queue_->Done(key));
        }
      }
    });
  }
  std::atomic<bool> stop = false;
  std::thread disk([&] {
    for (bool last = false; !last; ++outages) {
      last = stop;
      OnDisk([&](auto& d) {
        d.fail_after = static_cast<uint64_t>(outages.load() % 7);
        d.apply_failed = outages % 2 == 0;
      });
      // Each outage lasts until a call has failed.
      while (queue_->Flush(Durability::kProcess).ok()) {
        static_cast<void>(queue_->Add("probe"));
        static_cast<void>(queue_->Remove("probe"));
      }
      DiskIsBack();
      EXPECT_TRUE(store_->Recover().ok());
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  stop = true;
  disk.join();
  ASSERT_TRUE(store_->Flush(Durability::kProcess).ok());
  const auto keys = [this] {  // A crash queues them again, in their order.
    std::vector<HeldKey> held;
    EXPECT_TRUE(queue_->TryGet(SIZE_MAX, &held).ok());
    std::vector<std::string> text;
    for (const HeldKey& key : held) {
      text.push_back(key.key);
    }
    return text;
  };
  const std::vector<std::string> in_memory = keys();
  EXPECT_GE(in_memory.size(), static_cast<size_t>(kThreads * kKeys / 2));
  Crash();
  EXPECT_EQ(keys(), in_memory);
}

}  // namespace
}  // namespace wq
