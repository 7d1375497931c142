#include "bindings/c/boundary/entry.h"

#include <string>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"

namespace wq::c {

static_assert(WQ_PENDING == static_cast<int32_t>(EntryState::kPending));
static_assert(WQ_DELAYED == static_cast<int32_t>(EntryState::kDelayed));
static_assert(WQ_FAILING == static_cast<int32_t>(EntryState::kFailing));
static_assert(WQ_QUARANTINED == static_cast<int32_t>(EntryState::kQuarantined));

namespace {

// The fields that are the same in C and in C++; for both directions.
template <typename From, typename To>
void CopyEntryNumbers(const From& from, To* to) {
  to->lane = from.lane;
  to->sequence = from.sequence;
  to->added_at_us = from.added_at_us;
  to->ready_at_us = from.ready_at_us;
  to->delay_us = from.delay_us;
  to->quarantined_at_us = from.quarantined_at_us;
}
template <typename From, typename To>
void CopyFailureNumbers(const From& from, To* to) {
  to->count = from.count;
  to->first_at_us = from.first_at_us;
  to->last_at_us = from.last_at_us;
}
template <typename From, typename To>
void CopyInfoNumbers(const From& from, To* to) {
  to->created_at_us = from.created_at_us;
  to->sequence_high_water = from.sequence_high_water;
  to->paused_until_us = from.paused_until_us;
  to->shards = from.shards;
}

Status ToFailures(const wq_failures* in, Entry* out) {
  wq_failures failures;
  if (Status s = ReadSized("entry.failures", in, &failures); !s.ok()) {
    return s;
  }
  if (Status s = CheckInput("last_error", failures.last_error, failures.last_error_size); !s.ok()) {
    return s;
  }
  FailureInfo& info = out->failures.emplace();
  CopyFailureNumbers(failures, &info);
  info.last_error = ToString(failures.last_error, failures.last_error_size);
  return {};
}

}  // namespace

wq_failures ToC(const FailureInfo& failures) {
  wq_failures out{};
  out.size = sizeof out;
  CopyFailureNumbers(failures, &out);
  out.last_error = failures.last_error.data();
  out.last_error_size = failures.last_error.size();
  return out;
}

wq_queue_info ToC(const QueueInfo& info) {
  wq_queue_info out{};
  out.size = sizeof out;
  CopyInfoNumbers(info, &out);
  out.name = info.name.c_str();
  out.limiter_state = info.limiter_state.data();
  out.limiter_state_size = info.limiter_state.size();
  out.paused = info.paused ? 1 : 0;
  return out;
}

CEntry::CEntry(const Entry& entry) {
  entry_.size = sizeof entry_;
  CopyEntryNumbers(entry, &entry_);
  entry_.key = entry.key.data();
  entry_.key_size = entry.key.size();
  entry_.state = static_cast<int32_t>(entry.state);
  entry_.group = entry.group.data();
  entry_.group_size = entry.group.size();
  entry_.has_shard = entry.shard.has_value() ? 1 : 0;
  entry_.shard = entry.shard.value_or(0);
  if (entry.failures.has_value()) {
    failures_ = ToC(*entry.failures);
    entry_.failures = &failures_;
  }
}

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
  out->group = ToString(entry.group, entry.group_size);
  if (entry.has_shard != 0) {
    out->shard = entry.shard;
  }
  CopyEntryNumbers(entry, out);
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
  out->limiter_state = ToString(info.limiter_state, info.limiter_state_size);
  out->paused = info.paused != 0;
  CopyInfoNumbers(info, out);
  return {};
}

Status VisitCursors(const std::map<std::string, std::string>& cursors, wq_visit_cursor visit,
                    void* arg) {
  const CallbackScope scope;
  for (const auto& [name, value] : cursors) {
    if (visit(arg, name.c_str(), value.data(), value.size()) == 0) {
      break;
    }
  }
  return {};
}

}  // namespace wq::c
