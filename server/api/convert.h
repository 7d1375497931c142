// Conversions between the messages of proto/wq/v1 and the types of the library, for both sides.
#pragma once

#include <string_view>

#include "wq/history.h"
#include "wq/queue.h"
#include "wq/queue_access.h"
#include "wq/status.h"
#include "wq/v1/admin.pb.h"
#include "wq/v1/browse.pb.h"
#include "wq/v1/queue.pb.h"
#include "wq/v1/types.pb.h"
#include "wq/v1/work.pb.h"

namespace wq {

// The numbers of StatusCode and Code are the same.
v1::Code ToCode(StatusCode code);
StatusCode FromCode(v1::Code code);  // An unknown code is kIOError.

void ToError(const Status& status, v1::Error* error);
Status FromError(const v1::Error& error);

// InvalidArgument: a number that this version does not know.
Status FromDurability(v1::Durability durability, std::optional<Durability>* value);
v1::Durability ToDurability(std::optional<Durability> durability);

Status FromKind(v1::ChangeRequest::Kind kind, KeyChange* change);
v1::ChangeRequest::Kind ToKind(KeyChange change);

void ToCounts(const QueueCounts& counts, bool shutting_down, v1::QueueCounts* message);
void FromCounts(const v1::QueueCounts& message, QueueCounts* counts, bool* shutting_down);

void ToBatch(const BatchResult& result, v1::AddResponse* message);
void FromBatch(const v1::AddResponse& message, BatchResult* result);

void ToHistory(const KeyHistory& history, v1::GetHistoryResponse* message);
void FromHistory(const v1::GetHistoryResponse& message, KeyHistory* history);
template <typename Message>  // With the fields of v1::Assignment.
void ToCauses(const Causes& causes, Message* message) {
  for (const Cause& cause : causes.list) {
    v1::Cause* const added = message->add_causes();
    added->set_reason(cause.reason);
    added->set_trace_parent(cause.trace_parent);
  }
  message->set_causes_left_out(causes.left_out);
}
Causes FromCauses(const v1::Assignment& message);

// The row has the first `error_bytes` of the error. It replaces what *row had.
void ToKeyRow(const KeyInfo& key, size_t error_bytes, v1::KeyRow* row);

// Text for a field of the type string: bytes that are not UTF-8 become U+FFFD.
std::string ToUtf8(std::string_view bytes);

}  // namespace wq
