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
    auto it = groups_.find(name);
    if (it == groups_.end()) {
      auto group = std::make_unique<Group>();
      group->name = name;
      const std::string_view own_name = group->name;
      it = groups_.emplace(own_name, std::move(group)).first;
    }
    item->group = it->second.get();
    ++item->group->items;
  }
  if (old != nullptr && --old->items == 0) {
    groups_.erase(old->name);
  }
}

uint16_t ShardOf(std::string_view group_or_key, uint32_t shards) {
  return static_cast<uint16_t>(XXH3_64bits(group_or_key.data(), group_or_key.size()) % shards);
}

}  // namespace wq
