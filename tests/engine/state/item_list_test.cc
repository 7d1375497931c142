// ItemList: the order of what is pushed and put back, and the costs of putting back in no order.

#include "engine/order/item_list.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/state/item_table.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using ::testing::ElementsAreArray;

class ItemListTest : public ::testing::Test {
 protected:
  Item* Make(uint64_t sequence) {
    Item* const item = table_.FindOrInsert("key " + std::to_string(++keys_));
    item->sequence = sequence;
    return item;
  }
  std::vector<uint64_t> Sequences() const {
    std::vector<uint64_t> sequences;
    ItemList::Walk walk(list_);
    while (const Item* const item = walk.Next()) {
      sequences.push_back(item->sequence);
    }
    return sequences;
  }

  ItemTable table_;
  ItemList list_;

 private:
  int keys_ = 0;
};

TEST_F(ItemListTest, IsAscendingWhateverIsPutBackAndRemoved) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::map<uint64_t, Item*> model;
  std::vector<Item*> popped;
  uint64_t next = 1;
  for (int step = 0; step < 5000; ++step) {
    const uint64_t kind = random() % 6;
    if (kind < 2 || model.empty()) {
      Item* const item = Make(next += 1 + random() % 3);
      list_.PushBack(item);
      model.emplace(item->sequence, item);
    } else if (kind == 2 && !popped.empty()) {
      Item* const item = popped[random() % popped.size()];
      std::erase(popped, item);
      list_.PutBack(item);
      model.emplace(item->sequence, item);
    } else {
      const auto found = model.lower_bound(random() % next);
      const auto at = kind == 3 || found == model.end() ? model.begin() : found;
      if (kind == 3) {
        list_.PopFront();
      } else {
        list_.Remove(at->second);
      }
      popped.push_back(at->second);
      model.erase(at);
    }
    ASSERT_EQ(list_.size(), model.size());
    ASSERT_EQ(list_.front(), model.empty() ? nullptr : model.begin()->second);
    if (step % 50 == 0) {
      std::vector<uint64_t> sequences;
      for (const auto& [sequence, _] : model) {
        sequences.push_back(sequence);
      }
      ASSERT_THAT(Sequences(), ElementsAreArray(sequences));
    }
  }
}

// An import could give two keys one sequence.
TEST_F(ItemListTest, KeepsItemsOfOneSequence) {
  for (const uint64_t sequence : std::vector<uint64_t>{1, 9, 5, 5, 5}) {
    list_.PutBack(Make(sequence));
  }
  EXPECT_EQ(Sequences(), (std::vector<uint64_t>{1, 5, 5, 5, 9}));
  for (const uint64_t sequence : std::vector<uint64_t>{1, 5, 5, 5, 9}) {
    ASSERT_NE(list_.front(), nullptr);
    EXPECT_EQ(list_.front()->sequence, sequence);
    list_.PopFront();
  }
  EXPECT_EQ(list_.front(), nullptr);
}

TEST_F(ItemListTest, ManyItemsArePutBackInAnyOrder) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> sequences;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    sequences.push_back(i);
  }
  std::shuffle(sequences.begin(), sequences.end(), random);
  for (const uint64_t sequence : sequences) {
    list_.PutBack(Make(sequence));
  }
  for (uint64_t i = 1; i <= sequences.size(); ++i) {
    ASSERT_EQ(list_.front()->sequence, i);
    list_.PopFront();
  }
}

}  // namespace
}  // namespace wq
