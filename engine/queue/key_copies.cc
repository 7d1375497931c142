#include "engine/queue/key_copies.h"

namespace wq {

void KeyCopies::Clear() {
  constexpr size_t kKeptBytes = size_t{1} << 20;
  copies_.clear();
  if (bytes_.capacity() > kKeptBytes) {
    bytes_ = std::string();  // One long key does not cost memory until the end.
  }
  bytes_.clear();
}

void KeyCopies::Add(const Item& item) {
  Copy& copy = copies_.emplace_back();
  KeyInfo& info = copy.info;
  const std::string_view group = item.group_name();
  copy.key_bytes = item.key_bytes;
  copy.group_bytes = group.size();
  bytes_.append(item.key()).append(group);
  info.queued = item.state == KeyState::kQueued;
  info.processing = item.processing();
  info.added_again = item.state == KeyState::kProcessingDirty;
  info.lane = item.present_lane();
  if (sharded_ && item.known()) {
    info.shard = item.shard;
  }
  if (item.state != KeyState::kClean) {
    info.added_at_us = item.added_at_us;
  }
  if (const DelayEntry* const delay = item.delay.get(); delay != nullptr) {
    info.delayed = true;
    info.ready_at_us = delay->ready_at_us;
    info.delay_us = delay->delay_us;
    info.resync = delay->resync;
    if (item.state == KeyState::kClean) {
      info.lane = delay->lane;
      info.added_at_us = delay->added_at_us;
    }
  }
  if (const FailureEntry* const entry = item.failures.get(); entry != nullptr) {
    info.failing = !entry->quarantined;
    info.quarantined = entry->quarantined;
    if (entry->quarantined) {
      info.quarantined_at_us = entry->quarantined_at_us;
      info.lane = entry->lane;
    }
    info.failures = entry->count;
    info.first_failed_at_us = entry->first_at_us;
    info.last_failed_at_us = entry->last_at_us;
    copy.error_bytes = entry->last_error.size();
    bytes_.append(entry->last_error);
  }
}

bool KeyCopies::Visit(const KeyVisitor& visit) {
  std::string_view rest = bytes_;
  const auto take = [&rest](size_t size) {
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  };
  for (Copy& copy : copies_) {
    copy.info.key = take(copy.key_bytes);
    copy.info.group = take(copy.group_bytes);
    copy.info.last_error = take(copy.error_bytes);
    if (!visit(copy.info)) {
      return false;
    }
  }
  return true;
}

}  // namespace wq
