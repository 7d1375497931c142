#include "engine/state/delay_heap.h"

#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/state/item_table.h"
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

}  // namespace
}  // namespace wq
