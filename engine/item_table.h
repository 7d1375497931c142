// ItemTable: the items of one queue by key. Owns them. Thread-compatible.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "engine/item.h"

namespace wq {

class ItemTable {
 public:
  ItemTable() = default;
  ~ItemTable();
  ItemTable(const ItemTable&) = delete;
  ItemTable& operator=(const ItemTable&) = delete;

  Item* Find(std::string_view key) const;  // nullptr if there is none.
  Item* FindOrInsert(std::string_view key);
  // Frees it, and the table's memory when most of it stands empty: a queue that was long once does not
  // stay large. Amortised O(1).
  void Erase(Item* item);
  size_t capacity() const { return items_.capacity(); }  // Places, taken or not.
  // In no order.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Item* item : items_) {
      visit(*item);
    }
  }

 private:
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const;
    size_t operator()(const Item* item) const { return (*this)(item->key()); }
  };
  struct KeyEqual {
    using is_transparent = void;
    static std::string_view Key(std::string_view key) { return key; }
    static std::string_view Key(const Item* item) { return item->key(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Key(a) == Key(b);
    }
  };

  absl::flat_hash_set<Item*, KeyHash, KeyEqual> items_;
};

}  // namespace wq
