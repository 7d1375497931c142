#include "engine/offline/import_check.h"

#include <string>

#include "base/names.h"
#include "wq/keys.h"
#include "wq/limiter.h"

namespace wq {
namespace {

Status BadEntry(const Entry& entry, std::string_view why) {
  return Status::InvalidArgument("key \"" + EscapeKey(entry.key) + "\": " + std::string(why));
}

}  // namespace

Status CheckImported(const QueueInfo& info) {
  if (Status s = CheckName("queue", info.name); !s.ok()) return s;
  if (info.limiter_state.size() > kMaxLimiterStateBytes) {
    return Status::InvalidArgument("the limiter's state is too long");
  }
  if (info.shards > kMaxShards) return Status::InvalidArgument("too many shards");
  return {};
}

Status CheckImported(const Entry& entry) {
  if (entry.key.empty()) return Status::InvalidArgument("the key is empty");
  if (entry.key.size() > kMaxKeyBytes) return BadEntry(entry, "the key is too long");
  if (entry.group.size() > kMaxGroupBytes) return BadEntry(entry, "the group is too long");
  // The highest sequence could have no high-water mark above it.
  if (entry.sequence >= UINT64_MAX - 1) return BadEntry(entry, "the sequence is out of range");
  if (entry.delay_us < 0 || entry.delay_us > kMaxDelay.count()) {
    return BadEntry(entry, "the delay is out of range");
  }
  const bool quarantined = entry.state == EntryState::kQuarantined;
  if (entry.state == EntryState::kFailing && !entry.failures) {
    return BadEntry(entry, "it is failing without failures");
  }
  if (entry.failures && entry.failures->count == 0 && !quarantined) {
    return BadEntry(entry, "its failures count none");
  }
  if (entry.failures && entry.failures->last_error.size() > kMaxErrorBytes) {
    return BadEntry(entry, "the last error is too long");
  }
  return {};
}

Status CheckImportedCursor(std::string_view name, std::string_view value) {
  if (Status s = CheckName("cursor", name); !s.ok()) return s;
  if (value.size() > kMaxCursorBytes) {
    return Status::InvalidArgument("cursor \"" + std::string(name) + "\" is too long");
  }
  return {};
}

}  // namespace wq
