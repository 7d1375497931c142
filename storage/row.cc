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

template <typename Record>
RowRule RuleOf(const Record& record) {
  if constexpr (requires { CheckRow(record); }) return CheckRow(record);
  return RowRule::kNone;
}

// The queue's key; empty: the record is not of one.
template <typename Record>
std::string_view KeyOf(const Record& record) {
  if constexpr (requires { record.failures; }) return record.failures.key;
  if constexpr (requires { record.key; }) return record.key;
  return {};
}

}  // namespace

Status Row::Decode(Family family, std::string_view key, std::string_view value) {
  key_ = {};
  broken_ = RowRule::kNone;
  const OneRow row(family, key, value);
  Status status =
      family == Family::kDefault ? DecodeDefault(key, row) : DecodeQueueRow(family, key, row);
  if (!status.ok()) return status;
  broken_ = std::visit([](const auto& record) { return RuleOf(record); }, record_);
  return broken_ == RowRule::kNone ? status : BadRecord(family, key, TextOf(broken_));
}

Status Row::DecodeDefault(std::string_view key, const Reader& row) {
  if (key == kStoreKey) return GetStore(row, &record_.emplace<StoreRecord>());
  if (key == kProcessLogKey) return GetProcessLog(row, &record_.emplace<ProcessLogRecord>());
  if (key == kTokensKey) return GetTokens(row, &record_.emplace<TokensRecord>());
  if (key == kReplicationKey) return GetReplication(row, &record_.emplace<ReplicationRecord>());
  if (key == kAheadKey) return GetAhead(row, &record_.emplace<AheadRecord>());
  if (key.starts_with(kQueuePrefix)) {
    return ScanQueues(row, [this](const QueueRecord& record) {
      queue_ = record.id;
      record_ = record;
      return true;
    });
  }
  if (key.starts_with(kStatePrefix) && key.size() == kStatePrefix.size() + kQueuePrefixBytes) {
    queue_ = ReadBig32(key.substr(kStatePrefix.size()));
    return GetQueueState(row, queue_, &bytes_, &record_.emplace<QueueStateRecord>());
  }
  record_ = Removed();
  return key.starts_with(kRemovedPrefix) ? Status::Ok()
                                         : BadRecord(Family::kDefault, key, "nothing has this key");
}

Status Row::DecodeQueueRow(Family family, std::string_view record_key, const Reader& row) {
  if (record_key.size() < kQueuePrefixBytes) return BadRecord(family, record_key, kShortKey);
  queue_ = ReadBig32(record_key);
  const auto take = [this](auto record) {
    KeepViews(&record, &bytes_);
    key_ = KeyOf(record);
    record_ = record;
    return true;
  };
  switch (family) {
    case Family::kDirty:
    case Family::kLanes:
      return ScanPendingUnordered(row, queue_, take);
    case Family::kDelayed:
      return ScanDelayed(row, queue_, take);
    case Family::kFailures:
      return ScanFailures(row, queue_, take);
    case Family::kQuarantine:
      return ScanQuarantine(row, queue_, take);
    case Family::kCursors:
      return ScanCursors(row, queue_, take);
    case Family::kSources:
      return ScanSources(row, queue_, take, take);
    case Family::kDefault:
      break;
  }
  return Status::Ok();
}

}  // namespace wq::storage
