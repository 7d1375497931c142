#include "engine/state/delay_heap.h"

#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/state/item_table.h"
#include "engine/state/queue_state.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

uint64_t DelaySeed() {
  const uint64_t seed = support::Seed();
  std::cout << "WQ_SEED=" << seed << "\n";
  return seed;
}

constexpr size_t kManyDelays = 20'000;  // Enough for the heap to fill a run.

// A DelayHeap, and a naive model of it: a map by due time and number of the Push.
class NaiveDelays {
 public:
  ~NaiveDelays() {
    while (!naive_.empty()) {
      Drop(naive_.begin());
    }
  }

  void Push(const std::string& key, int64_t due_us) {
    Item* item = items_.FindOrInsert(key);
    item->delay = slabs_.Make();
    item->delay->item = item;
    item->delay->due_us = due_us;
    heap_.Push(item->delay.get());
    naive_.emplace(std::pair(due_us, pushed_++), item);
  }
  // Removes the first entry, if it is due. False: the heap and the model differ.
  bool Fire(int64_t now_us) {
    const DelayEntry* entry = heap_.Due(now_us);
    const bool is_due = !naive_.empty() && naive_.begin()->first.first <= now_us;
    if (entry == nullptr || !is_due) {
      return entry == nullptr && !is_due;
    }
    const bool same = entry->item == naive_.begin()->second;
    Drop(naive_.begin());
    return same && heap_.size() == naive_.size();
  }
  // Removes the first entry that is due at `number` or later: it may be anywhere in the heap.
  void Cancel(uint64_t number) {
    const auto place = naive_.lower_bound({static_cast<int64_t>(number), 0});
    if (place != naive_.end()) {
      Drop(place);
    }
  }
  size_t size() const { return naive_.size(); }
  const DelayHeap& heap() const { return heap_; }

 private:
  using Entries = std::map<std::pair<int64_t, uint64_t>, Item*>;

  void Drop(Entries::iterator place) {
    Item* item = place->second;
    naive_.erase(place);
    heap_.Remove(std::move(item->delay));
  }

  Slabs<DelayEntry> slabs_;
  ItemTable items_;
  Entries naive_;
  uint64_t pushed_ = 0;
  DelayHeap heap_;
};

TEST(DelayHeap, GivesItsMemoryBack) {
  NaiveDelays delays;
  for (size_t i = 0; i < kManyDelays; ++i) {
    delays.Push("key-" + std::to_string(i), static_cast<int64_t>(i * 7919 % kManyDelays));
  }
  const size_t most = delays.heap().capacity();
  for (size_t i = 0; i < kManyDelays - 10; ++i) {
    ASSERT_TRUE(delays.Fire(static_cast<int64_t>(i)));
  }
  EXPECT_LT(delays.heap().capacity(), most / 16);
  EXPECT_EQ(delays.heap().size(), 10U);
}

TEST(DelayHeap, GivesEntriesByTimeThenInTheOrderOfPushHoweverManyAreDueAtOnce) {
  std::mt19937_64 random(DelaySeed());
  for (const int64_t distinct_times : {1, 100, 1'000'000}) {
    NaiveDelays delays;
    const auto push = [&](size_t i, int64_t from_us) {
      delays.Push("key-" + std::to_string(i),
                  from_us + static_cast<int64_t>(random() % static_cast<uint64_t>(distinct_times)));
    };
    for (size_t i = 0; i < kManyDelays; ++i) {
      push(i, 0);
    }
    // First half of the entries are due, then all. During the first part others are added, due
    // before or after those, and some are cancelled.
    for (size_t i = 0; delays.size() > 0; ++i) {
      ASSERT_TRUE(delays.Fire(i < kManyDelays ? distinct_times / 2 : distinct_times * 2));
      if (i < kManyDelays && i % 3 == 0) {
        push(kManyDelays + i, i % 2 == 0 ? 0 : distinct_times);
      }
      if (i % 5 == 0) {
        delays.Cancel(random() % static_cast<uint64_t>(distinct_times));
      }
    }
  }
}

TEST(DelayHeap, MayEndWithEntriesThatWereDueAndCancelled) {
  NaiveDelays delays;
  for (size_t i = 0; i < kManyDelays; ++i) {
    delays.Push("key-" + std::to_string(i), static_cast<int64_t>(i));
  }
  for (size_t i = 0; i < kManyDelays / 2; ++i) {
    ASSERT_TRUE(delays.Fire(kManyDelays));
  }
  delays.Cancel(kManyDelays - 1);
  delays.Cancel(kManyDelays - 10);
  EXPECT_EQ(delays.heap().size(), kManyDelays / 2 - 2);
}

// --- The queue ---

TEST(DelayHeap, KeysThatAreDueTogetherAreQueuedInOrderAndMayBeCancelledBefore) {
  QueueState state(1, {.add_cancels_delay = true}, nullptr);
  const auto key = [](size_t i) { return "key-" + std::to_string(100'000 + i); };
  for (size_t i = 0; i < kManyDelays; ++i) {
    const auto delay_us = static_cast<int64_t>(1 + i * 7919 % kManyDelays);
    state.AddAfter(key(i), delay_us, {}, {.steady_us = 0, .wall_us = 0});
  }
  const Time due{.steady_us = 2 * kManyDelays, .wall_us = 2 * kManyDelays};
  std::vector<std::string> by_time(kManyDelays);
  for (size_t i = 0; i < kManyDelays; ++i) {
    by_time[i * 7919 % kManyDelays] = key(i);
  }
  for (size_t i = 0; i < 10; ++i) {
    ASSERT_EQ(state.FireDue(due, 100), 100U);
  }
  // Of the keys that are due and not queued yet, one is cancelled, one is added, and the delay of
  // one is ended.
  EXPECT_TRUE(state.CancelDelay(by_time[5000]));
  EXPECT_EQ(state.Add(by_time[6000], {}, 0).outcome, AddOutcome::kAdded);
  EXPECT_TRUE(state.EndDelay(by_time[7000], due));
  EXPECT_EQ(state.Counts().delayed, kManyDelays - 1003);
  EXPECT_EQ(state.FireDue(due, kManyDelays), kManyDelays - 1003);
  EXPECT_FALSE(state.NextDue().has_value());

  std::vector<std::string> should(by_time.begin(), by_time.begin() + 1000);
  should.push_back(by_time[6000]);
  should.push_back(by_time[7000]);
  for (size_t i = 1000; i < kManyDelays; ++i) {
    if (i != 5000 && i != 6000 && i != 7000) {
      should.push_back(by_time[i]);
    }
  }
  std::vector<std::string> queued;
  state.ForEachQueued([&queued](const Item& item) {
    queued.emplace_back(item.key());
    return true;
  });
  EXPECT_EQ(queued, should);
}

}  // namespace
}  // namespace wq
