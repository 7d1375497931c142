#include "bindings/c/border/entry.h"

#include <string>

#include "bindings/c/border/border.h"

namespace wq::c {

static_assert(WQ_PENDING == static_cast<int32_t>(EntryState::kPending));
static_assert(WQ_DELAYED == static_cast<int32_t>(EntryState::kDelayed));
static_assert(WQ_FAILING == static_cast<int32_t>(EntryState::kFailing));
static_assert(WQ_QUARANTINED == static_cast<int32_t>(EntryState::kQuarantined));

wq_failures ToC(const FailureInfo& failures) {
  return {.size = sizeof(wq_failures),
          .count = failures.count,
          .first_at_us = failures.first_at_us,
          .last_at_us = failures.last_at_us,
          .last_error = failures.last_error.data(),
          .last_error_size = failures.last_error.size()};
}

EntryOfC::EntryOfC(const Entry& entry)
    : entry_{.size = sizeof(wq_entry),
             .key = entry.key.data(),
             .key_size = entry.key.size(),
             .state = static_cast<int32_t>(entry.state),
             .lane = entry.lane,
             .group = entry.group.data(),
             .group_size = entry.group.size(),
             .has_shard = entry.shard.has_value() ? 1 : 0,
             .shard = entry.shard.value_or(0),
             .sequence = entry.sequence,
             .added_at_us = entry.added_at_us,
             .ready_at_us = entry.ready_at_us,
             .delay_us = entry.delay_us,
             .quarantined_at_us = entry.quarantined_at_us,
             .failures = nullptr} {
  if (entry.failures.has_value()) {
    failures_ = ToC(*entry.failures);
    entry_.failures = &failures_;
  }
}

namespace {

Status ToFailures(const wq_failures* in, Entry* out) {
  wq_failures failures;
  if (Status s = ReadSized("entry.failures", in, &failures); !s.ok()) {
    return s;
  }
  if (Status s = CheckInput("last_error", failures.last_error, failures.last_error_size); !s.ok()) {
    return s;
  }
  out->failures =
      FailureInfo{.count = failures.count,
                  .first_at_us = failures.first_at_us,
                  .last_at_us = failures.last_at_us,
                  .last_error = ToString(failures.last_error, failures.last_error_size)};
  return {};
}

}  // namespace

Status ToEntry(const wq_entry* in, Entry* out) {
  if (in == nullptr) {
    return NullArgument("entry");
  }
  wq_entry entry;
  if (Status s = ReadSized("entry", in, &entry); !s.ok()) {
    return s;
  }
  if (Status s = CheckInput("entry.key", entry.key, entry.key_size); !s.ok()) {
    return s;
  }
  if (Status s = CheckInput("entry.group", entry.group, entry.group_size); !s.ok()) {
    return s;
  }
  if (entry.state < WQ_PENDING || entry.state > WQ_QUARANTINED) {
    return Status::InvalidArgument("entry.state is " + std::to_string(entry.state));
  }
  out->key = ToString(entry.key, entry.key_size);
  out->state = static_cast<EntryState>(entry.state);
  out->lane = entry.lane;
  out->group = ToString(entry.group, entry.group_size);
  if (entry.has_shard != 0) {
    out->shard = entry.shard;
  }
  out->sequence = entry.sequence;
  out->added_at_us = entry.added_at_us;
  out->ready_at_us = entry.ready_at_us;
  out->delay_us = entry.delay_us;
  out->quarantined_at_us = entry.quarantined_at_us;
  return entry.failures == nullptr ? Status::Ok() : ToFailures(entry.failures, out);
}

Status ToQueueInfo(const wq_queue_info* in, QueueInfo* out) {
  if (in == nullptr) {
    return NullArgument("info");
  }
  wq_queue_info info;
  if (Status s = ReadSized("info", in, &info); !s.ok()) {
    return s;
  }
  if (info.name == nullptr) {
    return NullArgument("info.name");
  }
  if (Status s = CheckInput("info.limiter_state", info.limiter_state, info.limiter_state_size);
      !s.ok()) {
    return s;
  }
  out->name = info.name;
  out->created_at_us = info.created_at_us;
  out->sequence_high_water = info.sequence_high_water;
  out->limiter_state = ToString(info.limiter_state, info.limiter_state_size);
  out->paused = info.paused != 0;
  out->paused_until_us = info.paused_until_us;
  out->shards = info.shards;
  return {};
}

}  // namespace wq::c
