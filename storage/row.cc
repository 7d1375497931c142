#include "storage/row.h"

#include "storage/record_decode.h"
#include "storage/record_keys.h"

namespace wq::storage {
namespace {

// A family that holds one record.
class OneRow final : public Reader {
 public:
  OneRow(Family family, std::string_view key, std::string_view value)
      : family_(family), key_(key), value_(value) {}

  Status Get(Family family, std::string_view key, std::string* value) const override {
    if (family != family_ || key != key_) return Status::NotFound("no such record");
    *value = value_;
    return Status::Ok();
  }
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override {
    if (family == family_ && key_ >= begin && (end.empty() || key_ < end)) visit(key_, value_);
    return Status::Ok();
  }

 private:
  const Family family_;
  const std::string_view key_;
  const std::string_view value_;
};

}  // namespace

std::string_view Row::Keep(std::string_view bytes) {
  const size_t at = bytes_.size();
  bytes_.append(bytes);
  return std::string_view(bytes_).substr(at);
}

Status Row::Decode(Family family, std::string_view key, std::string_view value) {
  bytes_.clear();
  // Enough for all that Keep copies: the bytes must not move.
  bytes_.reserve(2 * (key.size() + value.size()));
  key_ = {};
  broken_ = RowRule::kNone;
  const OneRow row(family, key, value);
  Status status =
      family == Family::kDefault ? DecodeDefault(key, row) : DecodeQueueRow(family, key, row);
  if (!status.ok()) return status;
  broken_ = Check();
  return broken_ == RowRule::kNone ? status : BadRecord(family, key, TextOf(broken_));
}

RowRule Row::Check() const {
  switch (kind_) {
    case Kind::kStore:
    case Kind::kProcessLog:
    case Kind::kReplication:
    case Kind::kAhead:
    case Kind::kRemoved:
      return RowRule::kNone;
    case Kind::kTokens:
      return CheckRow(tokens_);
    case Kind::kQueue:
      return CheckRow(queue_record_);
    case Kind::kQueueState:
      return CheckRow(queue_state_);
    case Kind::kPending:
      return CheckRow(pending_);
    case Kind::kDelayed:
      return CheckRow(delayed_);
    case Kind::kFailures:
      return CheckRow(failures_);
    case Kind::kQuarantine:
      return CheckRow(quarantine_);
    case Kind::kCursor:
      return CheckRow(cursor_);
    case Kind::kSource:
      return CheckRow(source_);
    case Kind::kObject:
      return CheckRow(object_);
  }
  return RowRule::kNone;
}

Status Row::DecodeDefault(std::string_view key, const Reader& row) {
  if (key == kStoreKey) {
    kind_ = Kind::kStore;
    return GetStore(row, &store_);
  }
  if (key == kProcessLogKey) {
    kind_ = Kind::kProcessLog;
    return GetProcessLog(row, &process_log_);
  }
  if (key == kTokensKey) {
    kind_ = Kind::kTokens;
    return GetTokens(row, &tokens_);
  }
  if (key == kReplicationKey) {
    kind_ = Kind::kReplication;
    return GetReplication(row, &replication_);
  }
  if (key == kAheadKey) {
    kind_ = Kind::kAhead;
    return GetAhead(row, &ahead_);
  }
  if (key.starts_with(kQueuePrefix)) {
    kind_ = Kind::kQueue;
    Status status = ScanQueues(row, [this](const QueueRecord& record) {
      queue_record_ = record;
      return true;
    });
    queue_ = queue_record_.id;
    return status;
  }
  if (key.starts_with(kStatePrefix) && key.size() == kStatePrefix.size() + kQueuePrefixBytes) {
    kind_ = Kind::kQueueState;
    queue_ = ReadBig32(key.substr(kStatePrefix.size()));
    std::string value;
    Status status = GetQueueState(row, queue_, &value, &queue_state_);
    if (status.ok()) queue_state_.limiter_state = Keep(value);
    return status;
  }
  if (key.starts_with(kRemovedPrefix)) {
    kind_ = Kind::kRemoved;
    return Status::Ok();
  }
  return BadRecord(Family::kDefault, key, "nothing has this key");
}

// The views that the visitors keep point into `record_key`, or into what Keep has copied.
Status Row::DecodeQueueRow(Family family, std::string_view record_key, const Reader& row) {
  if (record_key.size() < kQueuePrefixBytes) return BadRecord(family, record_key, kShortKey);
  queue_ = ReadBig32(record_key);
  switch (family) {
    case Family::kDirty:
    case Family::kLanes:
      kind_ = Kind::kPending;
      return ScanPendingUnordered(row, queue_, [this](const PendingRecord& record) {
        pending_ = record;
        pending_.group = Keep(record.group);
        pending_.causes = Keep(record.causes);
        key_ = record.key;
        return true;
      });
    case Family::kDelayed:
      kind_ = Kind::kDelayed;
      return ScanDelayed(row, queue_, [this](const DelayedRecord& record) {
        delayed_ = record;
        delayed_.group = Keep(record.group);
        delayed_.causes = Keep(record.causes);
        key_ = record.key;
        return true;
      });
    case Family::kFailures:
      kind_ = Kind::kFailures;
      return ScanFailures(row, queue_, [this](const FailureRecord& record) {
        failures_ = record;
        failures_.last_error = Keep(record.last_error);
        key_ = record.key;
        return true;
      });
    case Family::kQuarantine:
      kind_ = Kind::kQuarantine;
      return ScanQuarantine(row, queue_, [this](const QuarantineRecord& record) {
        quarantine_ = record;
        quarantine_.failures.last_error = Keep(record.failures.last_error);
        quarantine_.group = Keep(record.group);
        key_ = record.failures.key;
        return true;
      });
    case Family::kCursors:
      kind_ = Kind::kCursor;
      return ScanCursors(row, queue_, [this](const CursorRecord& record) {
        cursor_ = record;
        return true;
      });
    case Family::kSources:
      kind_ = record_key.size() == kSourcePrefixBytes ? Kind::kSource : Kind::kObject;
      return DecodeSourceRow(row);
    case Family::kDefault:
      break;
  }
  return Status::Ok();
}

Status Row::DecodeSourceRow(const Reader& row) {
  return ScanSources(
      row, queue_,
      [this](const SourceRecord& record) {
        source_ = record;
        source_.name = Keep(record.name);
        return true;
      },
      [this](const ObjectRecord& record) {
        object_ = record;
        object_.version = Keep(record.version);
        object_.keys = Keep(record.keys);
        object_.tombstone = Keep(record.tombstone);
        return true;
      });
}

}  // namespace wq::storage
