// Row: one row of any family, decoded and checked by itself. For readers that continue after a
// damaged row (verify, repair). All others use the Scan calls of records.h.
//
//   Row row;
//   Status s = row.Decode(Family::kDirty, key, value);
//   if (const auto* pending = row.As<PendingRecord>()) Use(row.queue(), *pending);
//
// Thread-compatible. The returned views are valid until the next Decode.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "storage/records.h"
#include "storage/row_rules.h"

namespace wq::storage {

class Row {
 public:
  // A row of an earlier version: to be left out.
  struct Removed {};

  // Corruption, as of the Scan calls: the row cannot be decoded, or it breaks a rule for one row.
  Status Decode(Family family, std::string_view key, std::string_view value);
  // The rule that the row breaks. kNone although Decode returned Corruption: the row could not be
  // decoded. Otherwise the accessors below return the decoded row, whether it breaks a rule or not.
  RowRule broken() const { return broken_; }

  // The record, if it is of this type; otherwise null.
  template <typename Record>
  const Record* As() const {
    return std::get_if<Record>(&record_);
  }
  // Of a queue's state and of all records of a queue; of a QueueRecord its id.
  QueueId queue() const { return queue_; }
  // The queue's key, if the record is of one: pending, delayed, failures, quarantine.
  std::string_view key() const { return key_; }

 private:
  Status DecodeDefault(std::string_view key, const Reader& row);
  Status DecodeQueueRow(Family family, std::string_view record_key, const Reader& row);

  std::variant<Removed, StoreRecord, ProcessLogRecord, TokensRecord, ReplicationRecord, AheadRecord,
               QueueRecord, QueueStateRecord, PendingRecord, DelayedRecord, FailureRecord,
               QuarantineRecord, CursorRecord, SourceRecord, ObjectRecord>
      record_;
  RowRule broken_ = RowRule::kNone;
  QueueId queue_ = 0;
  std::string_view key_;
  std::string bytes_;  // What the views point to.
};

}  // namespace wq::storage
