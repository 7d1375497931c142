// Slabs: taking, giving back, reuse, full and empty blocks; under the address sanitizer also which
// memory is poisoned.

#include "engine/order/slabs.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/order/item.h"
#include "engine/state/item_table.h"
#include "tests/support/environment.h"

#ifdef WQ_ADDRESS_SANITIZER
// From <sanitizer/allocator_interface.h>, which GCC does not install. 1: memory that is allocated.
extern "C" int __sanitizer_get_ownership(const volatile void* memory);
#endif

namespace wq {
namespace {

constexpr size_t kObjectBytes = 64;
constexpr size_t kBlockBytes = size_t{64} << 10;

uintptr_t BlockOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory) / kBlockBytes; }

// Takes places until `blocks` blocks are full or in use.
std::vector<void*> TakeBlocks(SlabPool* pool, size_t blocks) {
  std::vector<void*> taken;
  std::set<uintptr_t> used;
  while (used.size() < blocks) {
    taken.push_back(pool->Take());
    used.insert(BlockOf(taken.back()));
  }
  return taken;
}

TEST(Slabs, GiveObjectsThatDoNotOverlapAndTakeThemInAnyOrder) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("WQ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  Slabs<DelayEntry> slabs;
  std::vector<DelayPointer> entries;
  for (size_t round = 0; round < 200'000; ++round) {
    if (entries.size() < 10'000 && random() % 3 > 0) {
      entries.push_back(slabs.Make());
      entries.back()->due_us = reinterpret_cast<int64_t>(entries.back().get());
      entries.back()->position = static_cast<Position>(entries.back()->due_us);
    } else if (!entries.empty()) {
      std::swap(entries[random() % entries.size()], entries.back());
      ASSERT_EQ(entries.back()->due_us, reinterpret_cast<int64_t>(entries.back().get()));
      ASSERT_EQ(static_cast<int64_t>(entries.back()->position), entries.back()->due_us);
      entries.pop_back();
    }
  }
}

TEST(Slabs, TakeTheLastPlaceThatWasGivenBack) {
  SlabPool pool(kObjectBytes);
  void* const first = pool.Take();
  void* const second = pool.Take();
  EXPECT_NE(first, second);
  SlabPool::Give(first);
  SlabPool::Give(second);
  EXPECT_EQ(pool.Take(), second);
  EXPECT_EQ(pool.Take(), first);
}

TEST(Slabs, PlacesAreAlignedAndWritableToTheirLastByte) {
  for (const size_t bytes : {size_t{16}, size_t{24}, size_t{200}, size_t{4096}}) {
    SlabPool pool(bytes);
    std::vector<void*> taken = TakeBlocks(&pool, 3);
    for (size_t i = 0; i < taken.size(); ++i) {
      ASSERT_EQ(reinterpret_cast<uintptr_t>(taken[i]) % 8, 0U);
      std::memset(taken[i], static_cast<int>(i % 256), bytes);
    }
    for (size_t i = 0; i < taken.size(); ++i) {
      const auto* const at = static_cast<const unsigned char*>(taken[i]);
      ASSERT_TRUE(std::all_of(at, at + bytes, [i](unsigned char byte) { return byte == i % 256; }));
    }
    std::for_each(taken.begin(), taken.end(), SlabPool::Give);
  }
}

// A full block has room again after the first Give; the next Take is served from it.
TEST(Slabs, AFullBlockIsUsedAgainAfterAGive) {
  SlabPool pool(kObjectBytes);
  std::vector<void*> taken = TakeBlocks(&pool, 4);
  void* const place = taken[taken.size() / 2];
  EXPECT_NE(BlockOf(place), BlockOf(taken.back()));
  SlabPool::Give(place);
  EXPECT_EQ(pool.Take(), place);
  std::for_each(taken.begin(), taken.end(), SlabPool::Give);
}

TEST(Slabs, EmptyBlocksAreFreed) {
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  constexpr size_t kBlocks = 20;
  SlabPool pool(kObjectBytes);
  std::vector<void*> taken;
  taken.reserve(kBlocks * kBlockBytes / kObjectBytes);
  const size_t before = allocated();
  for (size_t i = 0; i < kBlocks * kBlockBytes / kObjectBytes; ++i) {
    taken.push_back(pool.Take());
  }
  std::shuffle(taken.begin(), taken.end(), std::mt19937(1));
  std::for_each(taken.begin(), taken.end(), SlabPool::Give);
  EXPECT_LT(allocated(), before + 4 * kBlockBytes);  // One block is kept. (Sanitizers report 0.)
  EXPECT_EQ(TakeBlocks(&pool, 1).size(), 1U);
}

#ifdef WQ_ADDRESS_SANITIZER

bool IsPoisoned(const void* memory, size_t offset = 0) {
  return __asan_address_is_poisoned(static_cast<const char*>(memory) + offset) != 0;
}

size_t CountAllocated(const std::set<uintptr_t>& blocks) {
  return static_cast<size_t>(std::count_if(blocks.begin(), blocks.end(), [](uintptr_t block) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a block is known by its number.
    return __sanitizer_get_ownership(reinterpret_cast<void*>(block * kBlockBytes)) != 0;
  }));
}

TEST(Slabs, WhatIsNotTakenIsPoisoned) {
  SlabPool pool(kObjectBytes);
  void* const first = pool.Take();
  void* const second = pool.Take();
  for (const void* place : {first, second}) {
    EXPECT_FALSE(IsPoisoned(place));
    EXPECT_FALSE(IsPoisoned(place, kObjectBytes - 1));
    EXPECT_TRUE(IsPoisoned(place, kObjectBytes));  // The gap behind the object.
  }
  const size_t place_bytes =
      static_cast<size_t>(static_cast<char*>(second) - static_cast<char*>(first));
  EXPECT_TRUE(IsPoisoned(second, place_bytes));  // Never used.
  SlabPool::Give(first);
  EXPECT_TRUE(IsPoisoned(first));  // The link of the free places.
  EXPECT_TRUE(IsPoisoned(first, kObjectBytes - 1));
  EXPECT_FALSE(IsPoisoned(second));
  EXPECT_EQ(pool.Take(), first);
  EXPECT_FALSE(IsPoisoned(first));
  SlabPool::FreeWithPool(second);
  EXPECT_TRUE(IsPoisoned(second));
}

TEST(Slabs, AllBlocksButOneAreFreedWhenEmpty) {
  SlabPool pool(kObjectBytes);
  const std::vector<void*> taken = TakeBlocks(&pool, 5);
  std::set<uintptr_t> blocks;
  std::for_each(taken.begin(), taken.end(),
                [&blocks](const void* place) { blocks.insert(BlockOf(place)); });
  EXPECT_EQ(CountAllocated(blocks), 5U);
  std::for_each(taken.begin(), taken.end(), SlabPool::Give);
  EXPECT_EQ(CountAllocated(blocks), 1U);
}

TEST(SlabsDeathTest, AUseAfterGiveIsReported) {
  Slabs<DelayEntry> slabs;
  DelayPointer kept = slabs.Make();
  DelayPointer given = slabs.Make();
  volatile DelayEntry* const entry = given.get();
  given.reset();
  EXPECT_DEATH(static_cast<void>(entry->due_us), "use-after-poison");
  EXPECT_DEATH(entry->item = nullptr, "use-after-poison");
  EXPECT_DEATH(SlabPool::Give(const_cast<DelayEntry*>(entry)), "use-after-poison");
}

TEST(SlabsDeathTest, AUseOfAnErasedItemIsReported) {
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
