#include "engine/state/item_table.h"
#include "tests/support/environment.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

namespace wq {
namespace {

constexpr size_t kMany = 200'000;

// Items of similar length share a pool; the item of a long key has its own allocation.
TEST(ItemTable, KeepsKeysOfEveryLengthApart) {
  ItemTable table;
  std::vector<std::string> keys;
  for (size_t bytes = 1; bytes <= 400; ++bytes) {
    keys.emplace_back(bytes, 'a');
    keys.emplace_back(bytes, 'b');
  }
  keys.emplace_back(4096, 'c');
  keys.emplace_back(65'536, 'd');
  for (const bool again : {false, true}) {
    for (const std::string& key : keys) {
      Item* item = table.FindOrInsert(key);
      EXPECT_TRUE(item->idle());
      item->sequence = key.size();
    }
    for (const std::string& key : keys) {
      Item* item = table.Find(key);
      ASSERT_NE(item, nullptr);
      EXPECT_EQ(item->key(), key);
      EXPECT_EQ(item->sequence, key.size());
      if (!again || key.size() % 3 == 0) {  // The table frees the items that are left at the end.
        item->failures = std::make_unique<FailureEntry>();
        item->failures->last_error = key;
        if (!again) {
          table.Erase(item);
        }
      }
    }
  }
}

// First at the maximum load, so that items are far from their preferred slots and wrap round the
// end of the table; then with random inserts and erases.
TEST(ItemTable, HoldsWhatASetHolds) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  ItemTable table;
  std::unordered_map<std::string, Item*> should;
  const auto key = [&random] { return "key-" + std::to_string(random() % kMany); };
  const auto expect_the_same = [&] {
    size_t items = 0;
    table.ForEach([&](const Item& item) {
      ++items;
      ASSERT_TRUE(should.contains(std::string(item.key())));
    });
    ASSERT_EQ(items, should.size());
    for (const auto& [name, item] : should) {
      ASSERT_EQ(table.Find(name), item);
    }
  };
  const auto insert = [&](const std::string& name) {
    Item* item = table.FindOrInsert(name);
    ASSERT_EQ(item->key(), name);
    ASSERT_EQ(should.try_emplace(name, item).first->second, item);
  };
  while (table.capacity() < size_t{1} << 17 || should.size() < table.capacity() * 3 / 4) {
    insert(key());
  }
  expect_the_same();
  for (const bool growing : {false, true, false}) {
    for (size_t i = 0; i < kMany; ++i) {
      const std::string name = key();
      if (random() % 4 == (growing ? 1 : 0) || growing == (random() % 2 == 0)) {
        insert(name);
      } else if (const auto it = should.find(name); it != should.end()) {
        ASSERT_EQ(table.Find(name), it->second);
        table.Erase(it->second);
        should.erase(it);
        ASSERT_EQ(table.Find(name), nullptr);
      }
      table.Prefetch(name);
    }
    expect_the_same();
  }
}

// --- Walks ---

// What is left after a part of a walk is spread evenly, too: so erasing in the order of a walk
// leaves no long runs of used places when the table shrinks.
TEST(ItemTable, EachPartOfAWalkIsSpreadOverAllHashes) {
  constexpr size_t kKeys = 200'000;
  constexpr size_t kParts = 16;
  constexpr double kEach = 200'000.0 / 16 / 16;
  ItemTable table;
  for (size_t i = 0; i < kKeys; ++i) {
    table.FindOrInsert(std::to_string(i));
  }
  std::vector<uint32_t> hashes;
  for (uint64_t from = 0; from < ItemTable::kWalkEnd;) {
    from = table.ForEachFrom(from, 1024, SIZE_MAX,
                             [&](const Item& item) { hashes.push_back(item.hash); });
  }
  ASSERT_EQ(hashes.size(), kKeys);
  for (size_t part = 0; part < kParts; ++part) {
    std::array<size_t, kParts> visited{};
    for (size_t i = part * kKeys / kParts; i < (part + 1) * kKeys / kParts; ++i) {
      ++visited[hashes[i] >> 28];
    }
    for (const size_t count : visited) {
      EXPECT_NEAR(static_cast<double>(count), kEach, 200) << "part " << part;
    }
  }
}

TEST(ItemTable, LongKeysEndAStepEarly) {
  ItemTable table;
  for (size_t i = 0; i < 1000; ++i) {
    table.FindOrInsert(std::to_string(i) + std::string(60'000, 'x'));
  }
  size_t most = 0;
  for (uint64_t from = 0; from < ItemTable::kWalkEnd;) {
    size_t bytes = 0;
    from = table.ForEachFrom(from, 1024, 256 << 10,
                             [&](const Item& item) { bytes += item.key().size(); });
    most = std::max(most, bytes);
  }
  EXPECT_LT(most, size_t{2} << 20);  // With those behind their home places.
}

#ifdef WQ_ADDRESS_SANITIZER
TEST(ItemTableDeathTest, AUseOfAnErasedItemIsReported) {
  ItemTable table;
  table.FindOrInsert("kept");
  Item* const item = table.FindOrInsert("erased");
  table.Erase(item);
  volatile uint64_t* const sequence = &item->sequence;
  EXPECT_DEATH(static_cast<void>(*sequence), "use-after-poison");
}
#endif  // WQ_ADDRESS_SANITIZER

}  // namespace
}  // namespace wq
