#include "server/api/convert.h"

#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <string>
#include <utility>

#include "wq/keys.h"

namespace wq {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD.

// The number of bytes of the longest valid UTF-8 character at the beginning of `text`; 0: none.
size_t CharacterBytes(std::string_view text) {
  for (size_t n = 1; n <= std::min<size_t>(4, text.size()); ++n) {
    if (IsValidUtf8(text.substr(0, n))) {
      return n;
    }
  }
  return 0;
}

}  // namespace

v1::Code ToCode(StatusCode code) { return static_cast<v1::Code>(code); }

StatusCode FromCode(v1::Code code) {
  return v1::Code_IsValid(code) ? static_cast<StatusCode>(code) : StatusCode::kIOError;
}

void ToError(const Status& status, v1::Error* error) {
  error->set_code(ToCode(status.code()));
  error->set_message(ToUtf8(status.message()));
}

Status FromError(const v1::Error& error) { return {FromCode(error.code()), error.message()}; }

// The numbers of Durability are those of the message's less one.
Status FromDurability(v1::Durability durability, std::optional<Durability>* value) {
  value->reset();
  if (!v1::Durability_IsValid(durability)) {
    return Status::InvalidArgument("there is no durability " +
                                   std::to_string(static_cast<int>(durability)));
  }
  if (durability != v1::DURABILITY_UNSPECIFIED) {
    *value = static_cast<Durability>(static_cast<int>(durability) - 1);
  }
  return {};
}

v1::Durability ToDurability(std::optional<Durability> durability) {
  if (!durability.has_value()) {
    return v1::DURABILITY_UNSPECIFIED;
  }
  return static_cast<v1::Durability>(static_cast<int>(*durability) + 1);
}

// The numbers of KeyChange are those of Kind less one.
Status FromKind(v1::ChangeRequest::Kind kind, KeyChange* change) {
  if (kind == v1::ChangeRequest::KIND_UNSPECIFIED || !v1::ChangeRequest::Kind_IsValid(kind)) {
    return Status::InvalidArgument("there is no change of kind " +
                                   std::to_string(static_cast<int>(kind)));
  }
  *change = static_cast<KeyChange>(static_cast<int>(kind) - 1);
  return {};
}

v1::ChangeRequest::Kind ToKind(KeyChange change) {
  return static_cast<v1::ChangeRequest::Kind>(static_cast<int>(change) + 1);
}

void ToCounts(const QueueCounts& counts, bool shutting_down, v1::QueueCounts* message) {
  message->set_queued(counts.queued);
  message->set_processing(counts.processing);
  message->set_delayed(counts.delayed);
  if (counts.next_due_us.has_value()) {
    message->set_next_due_us(*counts.next_due_us);
  }
  message->set_failing(counts.failing);
  message->set_quarantined(counts.quarantined);
  for (const auto& [lane, keys] : counts.lanes) {
    (*message->mutable_lanes())[lane] = keys;
  }
  message->set_other_lanes(counts.other_lanes);
  message->set_paused(counts.paused);
  message->set_shutting_down(shutting_down);
  message->set_adds(counts.adds);
  message->set_dones(counts.dones);
  message->set_failures(counts.failures);
  message->set_stuck(counts.stuck);
  message->set_held_back(counts.held_back);
  message->set_resyncs(counts.resyncs);
  message->set_full(counts.full);
}

void FromCounts(const v1::QueueCounts& message, QueueCounts* counts, bool* shutting_down) {
  *counts = {.queued = message.queued(),
             .processing = message.processing(),
             .delayed = message.delayed(),
             .next_due_us = {},
             .failing = message.failing(),
             .quarantined = message.quarantined(),
             .resyncs = message.resyncs(),
             .stuck = message.stuck(),
             .held_back = message.held_back(),
             .lanes = {},
             .other_lanes = message.other_lanes(),
             .paused = message.paused(),
             .adds = message.adds(),
             .dones = message.dones(),
             .failures = message.failures(),
             .full = message.full()};
  if (message.has_next_due_us()) {
    counts->next_due_us = message.next_due_us();
  }
  for (const auto& [lane, keys] : message.lanes()) {
    counts->lanes[lane] = keys;
  }
  *shutting_down = message.shutting_down();
}

void ToBatch(const BatchResult& result, v1::AddResponse* message) {
  message->set_added(result.added);
  message->set_deduplicated(result.deduplicated);
  message->set_held(result.held);
  for (const auto& [index, why] : result.refused) {
    v1::RefusedKey* const refused = message->add_refused();
    refused->set_index(index);
    ToError(why, refused->mutable_error());
  }
}

void FromBatch(const v1::AddResponse& message, BatchResult* result) {
  *result = {.added = message.added(),
             .deduplicated = message.deduplicated(),
             .held = message.held(),
             .refused = {}};
  for (const v1::RefusedKey& refused : message.refused()) {
    result->refused.emplace_back(refused.index(), FromError(refused.error()));
  }
}

// The numbers of HistoryKind and HistoryEvent::Kind are the same.
void ToHistory(const KeyHistory& history, v1::GetHistoryResponse* message) {
  for (const HistoryEvent& event : history.events) {
    v1::HistoryEvent& to = *message->add_events();
    to.set_kind(static_cast<v1::HistoryEvent::Kind>(event.kind));
    to.set_at_us(event.at_us);
    to.set_duration_us(event.duration_us);
    to.set_delay_us(event.delay_us);
    to.set_count(event.count);
    to.set_error(ToUtf8(event.error));
    to.set_worker(ToUtf8(event.worker));
    to.set_reason(ToUtf8(event.reason));
  }
  message->set_since_us(history.since_us);
  message->set_lost(history.lost);
  ToError(history.recording, message->mutable_recording());
}

void FromHistory(const v1::GetHistoryResponse& message, KeyHistory* history) {
  *history = {};
  for (const v1::HistoryEvent& event : message.events()) {
    history->events.push_back({.kind = static_cast<HistoryKind>(event.kind()),
                               .at_us = event.at_us(),
                               .duration_us = event.duration_us(),
                               .delay_us = event.delay_us(),
                               .count = event.count(),
                               .error = event.error(),
                               .worker = event.worker(),
                               .reason = event.reason()});
  }
  history->since_us = message.since_us();
  history->lost = message.lost();
  history->recording = FromError(message.recording());
}

Causes FromCauses(const v1::Assignment& message) {
  Causes causes{.left_out = message.causes_left_out()};
  for (const v1::Cause& cause : message.causes()) {
    causes.list.push_back({.reason = cause.reason(), .trace_parent = cause.trace_parent()});
  }
  return causes;
}

void ToKeyRow(const KeyInfo& key, size_t error_bytes, v1::KeyRow* row) {
  row->Clear();
  row->set_key(key.key.data(), key.key.size());
  const auto add_state = [row](bool is, v1::KeyState state) {
    if (is) {
      row->add_states(state);
    }
  };
  add_state(key.queued, v1::KEY_STATE_QUEUED);
  add_state(key.processing, v1::KEY_STATE_PROCESSING);
  add_state(key.delayed, v1::KEY_STATE_DELAYED);
  add_state(key.failing, v1::KEY_STATE_FAILING);
  add_state(key.quarantined, v1::KEY_STATE_QUARANTINED);
  row->set_lane(key.lane);
  row->set_group(key.group.data(), key.group.size());
  if (key.shard.has_value()) {
    row->set_shard(*key.shard);
  }
  row->set_added_at_us(key.added_at_us);
  row->set_ready_at_us(key.ready_at_us);
  row->set_delay_us(key.delay_us);
  row->set_added_again(key.added_again);
  row->set_failures(key.failures);
  row->set_first_failed_at_us(key.first_failed_at_us);
  row->set_last_failed_at_us(key.last_failed_at_us);
  row->set_last_error(ToUtf8(key.last_error.substr(0, error_bytes)));
  row->set_quarantined_at_us(key.quarantined_at_us);
  row->set_resync(key.resync);
}

std::string ToUtf8(std::string_view bytes) {
  if (IsValidUtf8(bytes)) {
    return std::string(bytes);
  }
  std::string text;
  while (!bytes.empty()) {
    const size_t n = CharacterBytes(bytes);
    text += n == 0 ? kReplacement : bytes.substr(0, n);
    bytes.remove_prefix(std::max<size_t>(n, 1));
  }
  return text;
}

}  // namespace wq
