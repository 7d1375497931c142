// GroupTable: the groups of one queue's keys; each name is stored once. Thread-compatible.
#pragma once

#include <memory>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "engine/order/item.h"

namespace wq {

class GroupTable {
 public:
  // Replaces the item's group by the one of this name. An empty name: none.
  void Assign(Item* item, std::string_view name);

  void DropIfUnused(Group* group);
  void DropUnused();
  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (const auto& [_, group] : groups_) {
      visit(group.get());
    }
  }

 private:
  Group* FindOrInsert(std::string_view name);

  absl::flat_hash_map<std::string_view, std::unique_ptr<Group>>
      groups_;  // The names are views of Group::name.
};

// The shard of a group, or of a key without one: xxh3 of its bytes, modulo `shards`. The assignment
// is visible to users, and does not change. REQUIRES: shards > 0.
uint16_t ShardOf(std::string_view group_or_key, uint32_t shards);

}  // namespace wq
