// Row: one row of any family, decoded and checked by itself. For readers that continue after a
// damaged row (verify, repair). All others use the Scan calls of records.h.
//
//   Row row;
//   Status s = row.Decode(Family::kDirty, key, value);
//   if (s.ok()) Use(row.queue(), row.pending());
//
// Thread-compatible. The returned views are valid until the next Decode, and as long as the bytes
// of its `key`.
#pragma once

#include <string>
#include <string_view>

#include "storage/records.h"
#include "storage/row_rules.h"

namespace wq::storage {

class Row {
 public:
  enum class Kind : uint8_t {
    kStore,
    kProcessLog,
    kTokens,
    kReplication,
    kAhead,
    kRemoved,  // Of an earlier version: to be left out.
    kQueue,
    kQueueState,
    kPending,
    kDelayed,
    kFailures,
    kQuarantine,
    kCursor,
    kSource,
    kObject,
  };

  // Corruption, as of the Scan calls: the row cannot be decoded, or it breaks a rule for one row.
  Status Decode(Family family, std::string_view key, std::string_view value);
  // The rule that the row breaks. kNone although Decode returned Corruption: the row could not be
  // decoded. Otherwise the accessors below return the decoded row, whether it breaks a rule or not.
  RowRule broken() const { return broken_; }

  Kind kind() const { return kind_; }
  // The kinds before kQueue have none. Of a kQueue: the id in its record.
  QueueId queue() const { return queue_; }

  // Each for its own kind only.
  const StoreRecord& store() const { return store_; }
  const ProcessLogRecord& process_log() const { return process_log_; }
  const AheadRecord& ahead() const { return ahead_; }
  const TokensRecord& tokens() const { return tokens_; }
  const QueueRecord& queue_record() const { return queue_record_; }
  const QueueStateRecord& queue_state() const { return queue_state_; }
  const PendingRecord& pending() const { return pending_; }
  const DelayedRecord& delayed() const { return delayed_; }
  const FailureRecord& failures() const { return failures_; }
  const QuarantineRecord& quarantine() const { return quarantine_; }
  const CursorRecord& cursor() const { return cursor_; }
  const SourceRecord& source() const { return source_; }
  const ObjectRecord& object() const { return object_; }
  // The queue's key; empty for the kinds before kPending and from kCursor on.
  std::string_view key() const { return key_; }

 private:
  Status DecodeDefault(std::string_view key, const Reader& row);
  Status DecodeQueueRow(Family family, std::string_view record_key, const Reader& row);
  Status DecodeSourceRow(const Reader& row);
  RowRule Check() const;
  // Copies what a record points to: the message that holds it is freed by the scan.
  std::string_view Keep(std::string_view bytes);

  Kind kind_ = Kind::kStore;
  QueueId queue_ = 0;
  StoreRecord store_;
  ProcessLogRecord process_log_;
  TokensRecord tokens_;
  ReplicationRecord replication_;
  AheadRecord ahead_;
  QueueRecord queue_record_;
  QueueStateRecord queue_state_;
  PendingRecord pending_;
  DelayedRecord delayed_;
  FailureRecord failures_;
  QuarantineRecord quarantine_;
  CursorRecord cursor_;
  SourceRecord source_;
  ObjectRecord object_;
  RowRule broken_ = RowRule::kNone;
  std::string_view key_;
  std::string bytes_;  // What the views point to.
};

}  // namespace wq::storage
