#include "storage/row_rules.h"

#include <vector>

#include "base/names.h"
#include "storage/queue_records.h"
#include "wq/keys.h"
#include "wq/limiter.h"
#include "wq/source.h"

namespace wq::storage {

// NOLINTNEXTLINE(readability-function-size): a table, of which the compiler sees that it is whole.
std::string_view TextOf(RowRule rule) {
  switch (rule) {
    case RowRule::kNone:
      return "";
    case RowRule::kKeyTooLong:
      return "is too long";
    case RowRule::kGroupTooLong:
      return "has a group that is too long";
    case RowRule::kErrorTooLong:
      return "has a last error that is too long";
    case RowRule::kDelayRange:
      return "has a delay that is out of range";
    case RowRule::kSequenceRange:
      return "has a sequence that is out of range";
    case RowRule::kNoFailures:
      return "has failures that count none";
    case RowRule::kCursorName:
      return "has a bad cursor name";
    case RowRule::kCursorTooLong:
      return "has a value that is too long";
    case RowRule::kSourceName:
      return "has a bad source name";
    case RowRule::kObjectRange:
      return "has a name, version, tombstone or keys that are out of range";
    case RowRule::kQueueName:
      return "has a bad queue name";
    case RowRule::kNoQueueId:
      return "is a queue without an id";
    case RowRule::kNoTokens:
      return "has no next token";
    case RowRule::kMarkRange:
      return "has a high-water mark that is out of range";
    case RowRule::kShards:
      return "has too many shards";
    case RowRule::kLimiterStateTooLong:
      return "has a limiter state that is too long";
    case RowRule::kPendingTwice:
      return "is pending twice";
    case RowRule::kDelayedTwice:
      return "is delayed twice";
    case RowRule::kQuarantinedTwice:
      return "is in quarantine twice";
    case RowRule::kDelayedAndQuarantined:
      return "is delayed and quarantined";
    case RowRule::kFailingAndQuarantined:
      return "is both failing and quarantined";
    case RowRule::kSequenceAboveMark:
      return "has a sequence above the queue's high-water mark";
    case RowRule::kSequenceTwice:
      return "has a sequence that another key has";
    case RowRule::kSourceTwice:
      return "is the name of two sources";
    case RowRule::kObjectOfNoSource:
      return "is an object of no source";
    case RowRule::kQueueIdTwice:
      return "has the id of queue";
    case RowRule::kStateOfNoQueue:
      return "has a state, but no name";
    case RowRule::kRowsOfNoQueue:
      return "rows of no queue";
  }
  return "";
}

std::string DescribeRow(std::string_view what, std::string_view name, RowRule rule) {
  std::string text(what);
  text.append(" '").append(EscapeKey(name)).append("' ").append(TextOf(rule));
  return text;
}

RowRule CheckRow(const TokensRecord& record) {
  return record.next == 0 ? RowRule::kNoTokens : RowRule::kNone;
}

RowRule CheckRow(const QueueRecord& record) {
  if (!IsName(WithoutImportSuffix(record.name))) return RowRule::kQueueName;
  return record.id == 0 ? RowRule::kNoQueueId : RowRule::kNone;
}

RowRule CheckRow(const QueueStateRecord& record) {
  if (record.sequence_high_water > kMaxSequence + 1) return RowRule::kMarkRange;
  if (record.shards > kMaxShards) return RowRule::kShards;
  return record.limiter_state.size() > kMaxLimiterStateBytes ? RowRule::kLimiterStateTooLong
                                                             : RowRule::kNone;
}

RowRule CheckRow(const PendingRecord& record) {
  if (record.key.size() > kMaxKeyBytes) return RowRule::kKeyTooLong;
  if (record.group.size() > kMaxGroupBytes) return RowRule::kGroupTooLong;
  return record.sequence > kMaxSequence ? RowRule::kSequenceRange : RowRule::kNone;
}

RowRule CheckRow(const DelayedRecord& record) {
  if (record.key.size() > kMaxKeyBytes) return RowRule::kKeyTooLong;
  if (record.group.size() > kMaxGroupBytes) return RowRule::kGroupTooLong;
  const int64_t longest_us = kMaxDelay.count() * (record.resync ? 2 : 1);  // See row_rules.h.
  const bool in_range = record.delay_us >= 0 && record.delay_us <= longest_us;
  return in_range ? RowRule::kNone : RowRule::kDelayRange;
}

RowRule CheckRow(const FailureRecord& record) {
  if (record.key.size() > kMaxKeyBytes) return RowRule::kKeyTooLong;
  if (record.last_error.size() > kMaxErrorBytes) return RowRule::kErrorTooLong;
  return record.count == 0 ? RowRule::kNoFailures : RowRule::kNone;
}

RowRule CheckRow(const QuarantineRecord& record) {
  // A key that a caller put into quarantine may have no failures.
  const RowRule broken = CheckRow(record.failures);
  if (broken != RowRule::kNone && broken != RowRule::kNoFailures) return broken;
  return record.group.size() > kMaxGroupBytes ? RowRule::kGroupTooLong : RowRule::kNone;
}

RowRule CheckRow(const CursorRecord& record) {
  if (!IsName(record.name)) return RowRule::kCursorName;
  return record.value.size() > kMaxCursorBytes ? RowRule::kCursorTooLong : RowRule::kNone;
}

RowRule CheckRow(const SourceRecord& record) {
  return record.name.empty() || IsName(record.name) ? RowRule::kNone : RowRule::kSourceName;
}

RowRule CheckRow(const ObjectRecord& record) {
  std::vector<std::string_view> keys;
  const bool decoded = DecodeKeys(record.keys, record.object, &keys);
  size_t bytes = 0;
  for (const std::string_view key : keys) bytes += key.size();
  const bool sound = decoded && !record.object.empty() && record.object.size() <= kMaxObjectBytes &&
                     record.version.size() <= kMaxVersionBytes &&
                     record.tombstone.size() <= kMaxTombstoneBytes &&
                     keys.size() <= kMaxObjectKeys && bytes <= kMaxObjectKeysBytes;
  return sound ? RowRule::kNone : RowRule::kObjectRange;
}

}  // namespace wq::storage
