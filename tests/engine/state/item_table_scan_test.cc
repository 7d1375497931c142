// ItemTable::ForEachFrom while the table changes between its calls.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/state/item_table.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

std::string StableKey(size_t i) { return "stable-" + std::to_string(i); }
std::string PassingKey(size_t i) { return "passing-" + std::to_string(i); }

// Inserts and erases many keys at once, so that the table grows and shrinks.
void Change(ItemTable* table, std::set<std::string>* passing, std::mt19937_64* random) {
  const size_t count = (*random)() % 4000;
  if ((*random)() % 2 == 0) {
    for (size_t i = 0; i < count; ++i) {
      const std::string key = PassingKey((*random)() % 30'000);
      table->FindOrInsert(key);
      passing->insert(key);
    }
    return;
  }
  for (size_t i = 0; i < count && !passing->empty(); ++i) {
    const auto first = passing->begin();
    table->Erase(table->Find(*first));
    passing->erase(first);
  }
}

TEST(ItemTableScan, VisitsEachKeyThatStaysExactlyOnce) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::set<size_t> capacities;
  for (int round = 0; round < 80; ++round) {
    ItemTable table;
    std::set<std::string> passing;
    const size_t stable = random() % 2000;
    for (size_t i = 0; i < stable; ++i) {
      table.FindOrInsert(StableKey(i));
    }
    std::map<std::string, size_t> visits;
    for (uint64_t from = 0; from < ItemTable::kWalkEnd;) {
      const uint64_t next =
          table.ForEachFrom(from, 1 + random() % 700, random() % 20'000,
                            [&](const Item& item) { ++visits[std::string(item.key())]; });
      ASSERT_GT(next, from);
      from = next;
      capacities.insert(table.capacity());
      if (random() % 8 == 0) {
        Change(&table, &passing, &random);
      }
    }
    for (size_t i = 0; i < stable; ++i) {
      ASSERT_EQ(visits[StableKey(i)], 1U) << StableKey(i) << " of " << stable;
    }
    for (const auto& [key, count] : visits) {
      ASSERT_LE(count, 1U) << key;
    }
  }
  EXPECT_GE(capacities.size(), 3U);  // The table has really changed.
}

// What is left after a part of a walk is spread evenly, too: so erasing in the order of a walk
// leaves no long runs of used places when the table shrinks.
TEST(ItemTableScan, EachPartOfAWalkIsSpreadOverAllHashes) {
  constexpr size_t kKeys = 200'000;
  constexpr size_t kParts = 16;
  constexpr double kEach = 200'000.0 / 16 / 16;
  ItemTable table;
  for (size_t i = 0; i < kKeys; ++i) {
    table.FindOrInsert(StableKey(i));
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

TEST(ItemTableScan, LongKeysEndAStepEarly) {
  ItemTable table;
  for (size_t i = 0; i < 1000; ++i) {
    table.FindOrInsert(StableKey(i) + std::string(60'000, 'x'));
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

}  // namespace
}  // namespace wq
