// Row: one row of any family, decoded and judged by itself. Whoever looks at rows that may be bad
// (verify, repair) goes over them with this; everybody else uses the Scan calls of records.h.
//
//   Row row;
//   Status s = row.Decode(Family::kDirty, key, value);
//   if (s.ok()) Use(row.queue(), row.pending());
//
// Thread-compatible. What is returned lives until the next Decode.
#pragma once

#include <string>
#include <string_view>

#include "storage/records.h"

namespace wq::storage {

class Row {
 public:
  enum class Kind : uint8_t {
    kStore,
    kQueue,
    kQueueState,
    kPending,
    kDelayed,
    kFailures,
    kQuarantine,
    kCursor,
  };

  // Corruption, as of the Scan calls: it cannot be decoded, or something in it is out of the range
  // that a writer may put there.
  Status Decode(Family family, std::string_view key, std::string_view value);

  Kind kind() const { return kind_; }
  QueueId queue() const { return queue_; }  // Not of a kStore; of a kQueue the id that it gives.

  // Each of its own kind alone.
  const StoreRecord& store() const { return store_; }
  const QueueRecord& queue_record() const { return queue_record_; }
  const QueueStateRecord& queue_state() const { return queue_state_; }
  const PendingRecord& pending() const { return pending_; }
  const DelayedRecord& delayed() const { return delayed_; }
  const FailureRecord& failures() const { return failures_; }
  const QuarantineRecord& quarantine() const { return quarantine_; }
  const CursorRecord& cursor() const { return cursor_; }
  // The user's key; empty of the first three kinds and of cursors.
  std::string_view key() const { return key_; }

 private:
  Status DecodeDefault(std::string_view key, const Reader& row);
  Status DecodeQueueRow(Family family, const Reader& row);
  Status JudgeFailures(Family family, const FailureRecord& record);
  // Copies what a record points to: the message that holds it goes.
  std::string_view Keep(std::string_view bytes);

  Kind kind_ = Kind::kStore;
  QueueId queue_ = 0;
  StoreRecord store_;
  QueueRecord queue_record_;
  QueueStateRecord queue_state_;
  PendingRecord pending_;
  DelayedRecord delayed_;
  FailureRecord failures_;
  QuarantineRecord quarantine_;
  CursorRecord cursor_;
  std::string_view key_;
  std::string_view record_key_;  // Of the call to Decode.
  std::string bytes_;            // What the views point to.
};

}  // namespace wq::storage
