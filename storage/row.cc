#include "storage/row.h"

#include <algorithm>

#include "storage/queue_records.h"
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

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

}  // namespace

std::string_view Row::Keep(std::string_view bytes) {
  const size_t at = bytes_.size();
  bytes_.append(bytes);
  return std::string_view(bytes_).substr(at);
}

Status Row::Decode(Family family, std::string_view key, std::string_view value) {
  bytes_.clear();
  // So that what is kept does not move.
  bytes_.reserve(2 * (key.size() + value.size()));
  record_key_ = key;
  key_ = {};
  const OneRow row(family, key, value);
  if (family == Family::kDefault) return DecodeDefault(key, row);
  if (key.size() < kQueuePrefixBytes) return BadRecord(family, key, kShortKey);
  queue_ = ReadBig32(key);
  Status status = DecodeQueueRow(family, row);
  if (status.ok() && key_.size() > kMaxKeyBytes) {
    return BadRecord(family, key, "its key is too long");
  }
  return status;
}

Status Row::DecodeDefault(std::string_view key, const Reader& row) {
  if (key == kStoreKey) {
    kind_ = Kind::kStore;
    return GetStore(row, &store_);
  }
  if (key.starts_with(kQueuePrefix)) {
    kind_ = Kind::kQueue;
    Status status = ScanQueues(row, [this](const QueueRecord& record) {
      queue_record_ = record;
      return true;
    });
    queue_ = queue_record_.id;
    if (!status.ok()) return status;
    if (!IsName(WithoutImportSuffix(queue_record_.name))) {
      return BadRecord(Family::kDefault, key, "a bad queue name");
    }
    return queue_ != 0 ? status : BadRecord(Family::kDefault, key, "a queue without an id");
  }
  if (key.starts_with(kStatePrefix) && key.size() == kStatePrefix.size() + kQueuePrefixBytes) {
    kind_ = Kind::kQueueState;
    queue_ = ReadBig32(key.substr(kStatePrefix.size()));
    std::string value;
    Status status = GetQueueState(row, queue_, &value, &queue_state_);
    if (status.ok()) queue_state_.limiter_state = Keep(value);
    return status;
  }
  return BadRecord(Family::kDefault, key, "nothing has this key");
}

Status Row::JudgeFailures(Family family, const FailureRecord& record) {
  key_ = record.key;
  if (family == Family::kFailures && record.count == 0) {
    return BadRecord(family, record_key_, "failures that count none");
  }
  return Status::Ok();
}

Status Row::DecodeQueueRow(Family family, const Reader& row) {
  Status judged;
  Status status;
  const auto take = [&](Kind kind, auto* to, const auto& record) {
    kind_ = kind;
    *to = record;
    return true;
  };
  switch (family) {
    case Family::kDirty:
    case Family::kLanes:
      status = ScanPendingUnordered(row, queue_, [&](const PendingRecord& record) {
        take(Kind::kPending, &pending_, record);
        key_ = record.key;
        pending_.group = Keep(record.group);
        return true;
      });
      break;
    case Family::kDelayed:
      status = ScanDelayed(row, queue_, [&](const DelayedRecord& record) {
        take(Kind::kDelayed, &delayed_, record);
        key_ = record.key;
        delayed_.group = Keep(record.group);
        if (record.delay_us < 0 || record.delay_us > kMaxDelay.count()) {
          judged = BadRecord(family, record_key_, "a delay that is out of range");
        }
        return true;
      });
      break;
    case Family::kFailures:
      status = ScanFailures(row, queue_, [&](const FailureRecord& record) {
        take(Kind::kFailures, &failures_, record);
        failures_.last_error = Keep(record.last_error);
        judged = JudgeFailures(family, record);
        return true;
      });
      break;
    case Family::kQuarantine:
      status = ScanQuarantine(row, queue_, [&](const QuarantineRecord& record) {
        take(Kind::kQuarantine, &quarantine_, record);
        quarantine_.failures.last_error = Keep(record.failures.last_error);
        quarantine_.group = Keep(record.group);
        judged = JudgeFailures(family, record.failures);
        return true;
      });
      break;
    case Family::kCursors:
      status = ScanCursors(row, queue_, [&](const CursorRecord& record) {
        take(Kind::kCursor, &cursor_, record);
        if (!IsName(record.name)) judged = BadRecord(family, record_key_, "a bad cursor name");
        return true;
      });
      break;
    case Family::kDefault:
      break;
  }
  return status.ok() ? judged : status;
}

}  // namespace wq::storage
