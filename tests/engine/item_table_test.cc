// The two containers that grow with the number of keys.

#include "engine/item_table.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/delay_heap.h"

namespace wq {
namespace {

constexpr size_t kMany = 200'000;

TEST(ItemTable, FindsWhatWasInserted) {
  ItemTable table;
  Item* a = table.FindOrInsert("a");
  EXPECT_EQ(table.FindOrInsert("a"), a);
  EXPECT_EQ(table.Find("a"), a);
  EXPECT_EQ(table.Find("b"), nullptr);
  table.Erase(a);
  EXPECT_EQ(table.Find("a"), nullptr);
}

TEST(ItemTable, GivesItsMemoryBack) {
  ItemTable table;
  std::vector<Item*> items;
  for (size_t i = 0; i < kMany; ++i) {
    items.push_back(table.FindOrInsert("key-" + std::to_string(i)));
  }
  const size_t most = table.capacity();
  for (size_t i = 0; i < kMany - 10; ++i) {
    table.Erase(items[i]);
  }
  EXPECT_LT(table.capacity(), most / 16);
  EXPECT_EQ(table.Find("key-" + std::to_string(kMany - 1)), items[kMany - 1]);
}

TEST(DelayHeap, GivesItsMemoryBack) {
  DelayHeap heap;
  Item item;
  std::vector<std::unique_ptr<DelayEntry>> entries;
  for (size_t i = 0; i < kMany; ++i) {
    auto entry = std::make_unique<DelayEntry>();
    entry->item = &item;
    entry->due_us = static_cast<int64_t>(i * 7919 % kMany);
    heap.Push(entry.get());
    entries.push_back(std::move(entry));
  }
  const size_t most = heap.capacity();
  for (size_t i = 0; i < kMany - 10; ++i) {
    ASSERT_EQ(heap.top()->due_us, static_cast<int64_t>(i));
    heap.Remove(heap.top());
  }
  EXPECT_LT(heap.capacity(), most / 16);
  EXPECT_EQ(heap.size(), 10U);
}

}  // namespace
}  // namespace wq
