// The history of a store against the calls that were made: by hand, and at random. WQ_SEED
// is the seed of the random calls; a failing run prints its own.

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/history/fixture.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_F(HistoryTest, EachTransitionIsAnEvent) {
  queue_options_.max_requeues = 1;
  queue_options_.limiter = std::make_shared<ItemExponentialFailure>(seconds(5), seconds(10));
  Open();
  ASSERT_TRUE(queue_->Add("k").ok());
  ASSERT_TRUE(queue_->Add("k").ok());
  ASSERT_TRUE(queue_->Add("k").ok());
  EXPECT_EQ(Get(), "k");
  clock_.Advance(milliseconds(1500));
  ASSERT_TRUE(queue_->AddRateLimited("k", "first error").ok());
  ASSERT_TRUE(queue_->Done("k").ok());
  clock_.Advance(seconds(5));
  EXPECT_EQ(Get(), "k");
  clock_.Advance(seconds(2));
  ASSERT_TRUE(queue_->AddRateLimited("k", "second error").ok());
  ASSERT_TRUE(queue_->Done("k").ok());
  ASSERT_TRUE(queue_->Release("k").ok());
  ASSERT_TRUE(queue_->Remove("k").ok());
  const KeyHistory history = Of("k");
  ASSERT_EQ(KindsOf(history), "1 2x2 4 6 1 4 6 8 9 10");
  EXPECT_EQ(history.events[3].error, "first error");
  EXPECT_EQ(history.events[3].duration_us, 1'500'000);
  EXPECT_EQ(history.events[3].delay_us, 5'000'000);
  EXPECT_EQ(history.events[6].error, "second error");
  EXPECT_EQ(history.events[6].duration_us, 2'000'000);
  EXPECT_EQ(history.lost, 0U);
  EXPECT_TRUE(history.recording.ok());
  EXPECT_EQ(history.since_us, history.events[0].at_us);
}

TEST_F(HistoryTest, AddsHaveTheirReasons) {
  Open();
  ASSERT_TRUE(queue_->AddAfter("k", seconds(9), {.reason = "created"}).ok());
  ASSERT_TRUE(queue_->AddAfter("k", seconds(10), {.reason = "changed"}).ok());
  ASSERT_TRUE(queue_->Add("k", {.reason = "changed"}).ok());
  ASSERT_TRUE(queue_->Add("k", {.reason = "changed"}).ok());
  ASSERT_TRUE(queue_->Add("k", {.reason = "changed"}).ok());
  ASSERT_TRUE(queue_->Add("k").ok());
  const KeyHistory history = Of("k");
  ASSERT_EQ(KindsOf(history), "3 2 1 2x2 2");
  std::vector<std::string> reasons;
  for (const HistoryEvent& event : history.events) {
    reasons.push_back(event.reason);
    EXPECT_EQ(event.error, "");
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{"created", "changed", "changed", "changed", ""}));
}

TEST_F(HistoryTest, DelaysAndGiveBacksAndForgets) {
  Open();
  ASSERT_TRUE(queue_->AddAfter("k", seconds(9)).ok());
  ASSERT_TRUE(queue_->AddAfter("k", seconds(10)).ok());
  ASSERT_TRUE(queue_->EndDelay("k").ok());
  EXPECT_EQ(Get(), "k");
  ASSERT_TRUE(queue_->PutBack("k").ok());
  ASSERT_TRUE(queue_->Forget("k").ok());  // Nothing to forget: no event.
  ASSERT_TRUE(queue_->AddRateLimited("k", "").ok());
  ASSERT_TRUE(queue_->Forget("k").ok());
  ASSERT_TRUE(queue_->CancelDelay("k").ok());
  ASSERT_TRUE(queue_->Quarantine("k", "bad").ok());
  ASSERT_TRUE(queue_->Drop("k").ok());
  ASSERT_TRUE(queue_->Quarantine("k", "bad").ok());
  ASSERT_TRUE(queue_->ReleaseAfter("k", seconds(9)).ok());
  const KeyHistory history = Of("k");
  ASSERT_EQ(KindsOf(history), "3 2 12 4 7 6 11 10 8 10 8 9 3");
  EXPECT_EQ(history.events[0].delay_us, 9'000'000);
  EXPECT_EQ(history.events[8].error, "bad");
  EXPECT_EQ(history.events[12].delay_us, 9'000'000);
}

TEST_F(HistoryTest, TheWorkerIsKnownIfItWasNoted) {
  Open();
  ASSERT_TRUE(queue_->Add("k").ok());
  std::vector<HeldKey> keys;
  ASSERT_TRUE(queue_->TryGet(1, &keys).ok());
  EXPECT_EQ(KindsOf(Of("k")), "1 4");  // The note is in a later block.
  queue_->NoteWorker(keys, "worker-7");
  ASSERT_TRUE(queue_->Done("k").ok());
  const KeyHistory history = Of("k");
  ASSERT_EQ(KindsOf(history), "1 4 5");
  EXPECT_EQ(history.events[1].worker, "worker-7");
  EXPECT_EQ(history.events[2].worker, "worker-7");
}

TEST_F(HistoryTest, ItSurvivesOpeningsAndGivesTheLastEvents) {
  for (int opening = 0; opening < 3; ++opening) {
    Open();
    for (int i = 0; i < 5; ++i) {
      clock_.Advance(seconds(1));
      ASSERT_TRUE(queue_->Add("k").ok());
      EXPECT_EQ(Get(), "k");
      clock_.Advance(seconds(1));
      ASSERT_TRUE(queue_->Done("k").ok());
    }
    Close();
  }
  EXPECT_EQ(OfFiles("k").events.size(), 45U);
  const KeyHistory last = OfFiles("k", 2);
  ASSERT_EQ(KindsOf(last), "4 5");
  EXPECT_EQ(last.events[1].duration_us, 1'000'000);
  ASSERT_EQ(KindsOf(OfFiles("k", 1)), "5");
  EXPECT_EQ(OfFiles("k", 1).events[0].duration_us, 1'000'000);  // Of an event that is not shown.
  EXPECT_TRUE(OfFiles("K").events.empty());
}

TEST_F(HistoryTest, AStoreWithoutOneRecordsNothing) {
  Open(0);
  ASSERT_TRUE(queue_->Add("k").ok());
  KeyHistory history;
  EXPECT_EQ(store_->History("q", "k", 0, &history).code(), StatusCode::kNotSupported);
  Close();
  EXPECT_EQ(ReadHistory(dir(), "q", "k", 0, &history).code(), StatusCode::kNotFound);
  EXPECT_TRUE(Segments().empty());
  StoreOptions options;
  options.history_bytes = 1000;
  EXPECT_EQ(Store::Open(options, dir(), &store_).code(), StatusCode::kInvalidArgument);
}

TEST_F(HistoryTest, EventsThatAreOlderThanAskedForAreDeleted) {
  age_ = minutes(8);
  Open();
  int64_t begin_us = 0;  // Of the last eight minutes.
  for (int minute = 0; minute < 40; ++minute) {
    begin_us = clock_.WallUs() - age_.count();
    ASSERT_TRUE(queue_->Add("k", {.durability = Durability::kAsync}).ok());
    EXPECT_EQ(Get(), "k");
    ASSERT_TRUE(queue_->Done("k").ok());
    EXPECT_TRUE(Of("k").recording.ok());
    clock_.Advance(minutes(1));
  }
  Close();
  const KeyHistory history = OfFiles("k");
  EXPECT_GE(history.events.front().at_us, begin_us - microseconds(minutes(1)).count());
  EXPECT_LE(history.events.front().at_us, begin_us);
  EXPECT_GE(history.events.size(), size_t{3} * 8);
  EXPECT_LE(Segments().size(), 10U);
  age_ = seconds(59);
  StoreOptions options;
  options.history_age = age_;
  EXPECT_EQ(Store::Open(options, dir(), &store_).code(), StatusCode::kInvalidArgument);
}

TEST_F(HistoryTest, ItIsBoundedAndCountsWhatItLoses) {
  constexpr size_t kBytes = size_t{1} << 20;
  Open(kBytes);
  std::mt19937_64 random(1);
  std::string last;
  for (int i = 0; i < 40'000; ++i) {  // Some MiB that do not compress well.
    last = std::to_string(random()) + std::to_string(random());
    ASSERT_TRUE(queue_->Add(last, {.durability = Durability::kAsync}).ok());
    if (i % 400 == 0) {
      EXPECT_TRUE(Of(last).recording.ok());
    }
  }
  EXPECT_LE(BytesOnDisk(), kBytes);
  EXPECT_GT(BytesOnDisk(), kBytes / 2);
  // A buffer has 64 KiB: these do not fit into it, unless the writer takes it in between.
  uint64_t lost = 0;
  for (int round = 0; round < 100 && lost == 0; ++round) {
    for (int i = 0; i < 20'000; ++i) {
      last = std::to_string(random());
      ASSERT_TRUE(queue_->Add(last, {.durability = Durability::kAsync}).ok());
    }
    lost = Of(last).lost;
  }
  EXPECT_GT(lost, 0U);
  EXPECT_GT(Of(last).since_us, 0);
}

TEST_F(HistoryTest, ANewQueueOfTheSameNameHasNoEventsOfTheOldOne) {
  Open();
  ASSERT_TRUE(queue_->Add("k").ok());
  ASSERT_TRUE(store_->CloseQueue(queue_).ok());
  EXPECT_EQ(KindsOf(Of("k")), "1");
  clock_.Advance(seconds(1));
  ASSERT_TRUE(store_->DeleteQueue("q").ok());
  ASSERT_TRUE(store_->OpenQueue("q", {}, &queue_).ok());
  ASSERT_TRUE(queue_->AddAfter("k", seconds(5)).ok());
  EXPECT_EQ(KindsOf(Of("k")), "3");
}

TEST_F(HistoryTest, ReadersBesideAnOwnerSeeWholeEvents) {
  Open(size_t{1} << 20);
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!over) {
        KeyHistory history;
        const Status s = ReadHistory(dir(), "q", "k", kMaxHistoryEvents, &history);
        EXPECT_TRUE(s.ok() || s.code() == StatusCode::kNotFound) << s.ToString();
        for (const HistoryEvent& event : history.events) {
          const int kind = static_cast<int>(event.kind);
          EXPECT_TRUE(kind == 1 || kind == 4 || kind == 5) << kind;
        }
      }
    });
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 30'000; ++i) {
    ASSERT_TRUE(queue_->Add("k").ok());
    ASSERT_TRUE(queue_->Done(Get()).ok());
    const std::string other = std::to_string(random()) + std::to_string(random());
    ASSERT_TRUE(queue_->Add(other).ok());
    ASSERT_TRUE(queue_->Remove(other).ok());
    if (i % 200 == 0) {
      EXPECT_TRUE(Of("k", 1).recording.ok());
    }
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(Segments().size(), 3U);
}

TEST_F(HistoryTest, RandomCallsAreTheHistory) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("replay with WQ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  support::DrawnSizes sizes(random(), {.total_bytes = size_t{16} << 10});
  SCOPED_TRACE(sizes.ToString());
  std::vector<std::string> names;
  for (uint64_t n = 0; n < 12; ++n) {
    names.push_back(support::KeyOf(n, sizes.KeyBytes()));
  }
  const bool reopens = random() % 2 == 0;
  constexpr size_t kAll = size_t{64} << 20;  // Of keys of 4096 bytes, too.
  Open(kAll);
  struct Expected {
    std::vector<std::pair<int, uint64_t>> events;  // Kind and count.
    bool queued = false, held = false, again = false;
  };
  std::map<std::string, Expected> keys;
  const auto expect = [](Expected* key, int kind) {
    if (kind == 2 && !key->events.empty() && key->events.back().first == 2) {
      ++key->events.back().second;
    } else {
      key->events.emplace_back(kind, 1);
    }
  };
  for (int i = 0; i < 3000; ++i) {
    clock_.Advance(milliseconds(random() % 50));
    const std::string name = names[random() % names.size()];
    Expected& key = keys[name];
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        ASSERT_TRUE(queue_->Add(name).ok());
        expect(&key, key.queued || key.again ? 2 : 1);
        (key.held ? key.again : key.queued) = true;
        break;
      case 3:
        if (const std::string got = Get(); !got.empty()) {
          expect(&keys[got], 4);
          keys[got].queued = false;
          keys[got].held = true;
        }
        break;
      case 4:
      case 5:
        if (!key.held) break;
        ASSERT_TRUE(queue_->Done(name).ok());
        expect(&key, 5);
        key.queued = std::exchange(key.again, false);
        key.held = false;
        break;
      case 6:
        if (!key.held) break;
        ASSERT_TRUE(queue_->PutBack(name).ok());
        expect(&key, 7);
        key.queued = true;
        key.held = key.again = false;
        break;
      default:
        if (random() % 40 == 0) {
          static_cast<void>(Of(name));  // Ends a block.
        } else if (reopens && random() % 40 == 0) {
          Close();
          Open(kAll);
          for (auto& [_, one] : keys) {  // What was held is handed out again.
            one.queued = one.queued || one.held;
            one.held = one.again = false;
          }
        } else if (key.queued || key.again) {
          ASSERT_TRUE(queue_->Remove(name).ok());
          expect(&key, 10);
          key.queued = key.again = false;
        }
    }
  }
  for (const auto& [name, key] : keys) {
    KeyHistory history = Of(name, kMaxHistoryEvents);
    std::vector<std::pair<int, uint64_t>> found;
    for (const HistoryEvent& event : history.events) {
      found.emplace_back(static_cast<int>(event.kind), event.count);
    }
    EXPECT_EQ(found, key.events) << name;
  }
}

}  // namespace
}  // namespace wq
