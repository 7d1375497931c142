// GroupTable: the groups of one queue's keys, each stored once. Thread-compatible.
#pragma once

#include <memory>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "engine/state/item.h"

namespace wq {

class GroupTable {
 public:
  // Gives the item the group of this name, and takes away the one that it had. An empty name: none.
  void Assign(Item* item, std::string_view name);

 private:
  absl::flat_hash_map<std::string_view, std::unique_ptr<Group>> groups_;  // By their own name.
};

// Which of `shards` a group, or the key of no group, belongs to: xxh3 of its bytes, modulo `shards`.
// The assignment is part of what users see, and does not change. REQUIRES: shards > 0.
uint16_t ShardOf(std::string_view group_or_key, uint32_t shards);

}  // namespace wq
