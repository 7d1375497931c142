#include "engine/state/group_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wq {

void GroupTable::Assign(Item* item, std::string_view name) {
  Group* old = item->group;
  if (old != nullptr && old->name == name) {
    return;
  }
  item->group = nullptr;
  if (!name.empty()) {
    item->group = FindOrInsert(name);
    ++item->group->items;
  }
  if (old != nullptr) {
    --old->items;
    DropIfUnused(old);
  }
}

Group* GroupTable::FindOrInsert(std::string_view name) {
  if (const auto it = groups_.find(name); it != groups_.end()) return it->second.get();
  auto group = std::make_unique<Group>();
  group->name = name;
  const std::string_view own_name = group->name;
  return groups_.emplace(own_name, std::move(group)).first->second.get();
}

void GroupTable::DropIfUnused(Group* group) {
  if (!group->used()) {
    groups_.erase(group->name);
  }
}

void GroupTable::DropUnused() {
  absl::erase_if(groups_, [](const auto& group) { return !group.second->used(); });
}

uint16_t ShardOf(std::string_view group_or_key, uint32_t shards) {
  return static_cast<uint16_t>(XXH3_64bits(group_or_key.data(), group_or_key.size()) % shards);
}

}  // namespace wq
