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
