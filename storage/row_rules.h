// RowRules: what must hold of the rows of a store beyond that each can be decoded. Each rule is
// stated here once, with its text. Pure.
//
//   RowRule broken = CheckRow(record);                                   // One row by itself.
//   if (broken == RowRule::kNone) broken = CheckBeside(RowPlace::kDelayed, has_row);
//   if (broken != RowRule::kNone) return Status::Corruption(DescribeRow("key", key, broken));
//
// A rule is broken only by what no sequence of transitions with a crash at any point can leave:
// each transition is one atomic batch. A pending row beside a quarantined one breaks no rule: a
// worker may hold the key. Opening the queue removes that pending row.
//
// What follows when a rule is broken (an import refuses what it is given, before it is a row):
//
//   rule                      opening     verify   repair                             import
//   kKeyTooLong               Corruption  finding  drops the row                      refuses
//   kGroupTooLong             Corruption  finding  keeps the row, clears the group    refuses
//   kErrorTooLong             Corruption  finding  keeps the row, cuts the text       refuses
//   kDelayRange               Corruption  finding  keeps the row; the longest delay   refuses
//   kSequenceRange            Corruption  finding  gives the key a new sequence       refuses
//   kNoFailures               Corruption  finding  drops the row                      refuses
//   kPendingTwice             Corruption  finding  keeps the younger place            refuses
//   kDelayedTwice             Corruption  finding  keeps the earlier delay            refuses
//   kQuarantinedTwice         (a store has one such row for a key)                    refuses
//   kDelayedAndQuarantined    Corruption  finding  drops the delay                    refuses
//   kFailingAndQuarantined    Corruption  finding  drops the failures                 refuses
//   kSequenceAboveMark        Corruption  finding  writes a new state                 raises it
//   kSequenceTwice            (see below) finding  gives one key a new sequence       refuses
//   kCursorName, -TooLong     Corruption  finding  drops the row                      refuses
//   kSourceTwice              Corruption  finding  keeps the younger source           refuses
//   kSourceName, kObjectRange, Corruption  finding  drops the row                      refuses
//     kObjectOfNoSource
//   kMarkRange                Corruption  finding  drops the row; writes a new state  refuses
//                                                    if a key needs one
//   kNoTokens                 Corruption  finding  drops the row; writes another one  -
//   kShards,                  Corruption  finding  keeps the row, clears the field    refuses
//     kLimiterStateTooLong
//   kQueueName, kNoQueueId    Corruption  finding  drops the row                      refuses
//   kQueueIdTwice             Corruption  finding  drops the second name              Corruption
//   kStateOfNoQueue,          unchecked   finding  names the queue "recovered-<id>"   -
//     kRowsOfNoQueue
//
// kSequenceTwice is an exception: an import by wq 0.1.0 could leave it, so an opening of the
// queue gives the second key a new sequence in its lane instead of refusing the store.
// kDelayRange allows a resync twice the longest delay: the jitter of an earlier wq could make it so
// long. An opening of the queue cuts it.
// Findings and losses contain the rule's text. "unchecked": an opening reads the queues' names and
// the rows of the queue that is opened, not those of no queue.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/records.h"

namespace wq::storage {

enum class RowRule : uint8_t {
  kNone,  // No rule is broken.
  // Of one row.
  kKeyTooLong,
  kGroupTooLong,
  kErrorTooLong,
  kDelayRange,
  kSequenceRange,
  kNoFailures,
  kCursorName,
  kCursorTooLong,
  kSourceName,
  kObjectRange,
  kQueueName,
  kNoQueueId,
  kMarkRange,
  kNoTokens,
  kShards,
  kLimiterStateTooLong,
  // Of the rows of one key.
  kPendingTwice,
  kDelayedTwice,
  kQuarantinedTwice,
  kDelayedAndQuarantined,
  kFailingAndQuarantined,
  // Of the rows of one queue.
  kSequenceAboveMark,
  kSequenceTwice,
  kSourceTwice,
  kObjectOfNoSource,
  // Of the queues of a store.
  kQueueIdTwice,
  kStateOfNoQueue,
  kRowsOfNoQueue,
};
inline constexpr int kRowRuleCount = static_cast<int>(RowRule::kRowsOfNoQueue) + 1;

// The highest sequence. A queue that assigns a million sequences a second reaches it after 292,000
// years, and no sum with a sequence overflows. An import may use half of the range, so that the
// queue can assign the other half; what a dump has above it is numbered anew.
inline constexpr uint64_t kMaxSequence = (uint64_t{1} << 63) - 1;
inline constexpr uint64_t kMaxImportedSequence = kMaxSequence / 2;

// A count of failures stays there, so that it is a number in every language.
inline constexpr uint64_t kMaxFailures = (uint64_t{1} << 63) - 1;

// What follows the name of the key, cursor or queue: "is pending twice". kQueueIdTwice is followed
// by the other queue's name, kRowsOfNoQueue follows a number. Empty for kNone.
std::string_view TextOf(RowRule rule);
// "key 'a' is pending twice".
std::string DescribeRow(std::string_view what, std::string_view name, RowRule rule);

// Each of these returns the first rule that the row breaks by itself.
RowRule CheckRow(const TokensRecord& record);
RowRule CheckRow(const QueueRecord& record);
RowRule CheckRow(const QueueStateRecord& record);
RowRule CheckRow(const PendingRecord& record);
RowRule CheckRow(const DelayedRecord& record);
RowRule CheckRow(const FailureRecord& record);
RowRule CheckRow(const QuarantineRecord& record);
RowRule CheckRow(const CursorRecord& record);
RowRule CheckRow(const SourceRecord& record);
RowRule CheckRow(const ObjectRecord& record);

// The high-water mark of a queue that has no state is 0.
inline RowRule CheckSequence(uint64_t sequence, uint64_t high_water_mark) {
  return sequence < high_water_mark ? RowRule::kNone : RowRule::kSequenceAboveMark;
}

// Where a key has a row.
enum class RowPlace : uint8_t { kPending, kDelayed, kFailures, kQuarantine };

// Which rule one more row of a key at `place` breaks. `has(RowPlace)` returns whether the key has a
// row there; it is called only for places that a rule names. Two rows of failures break none: a
// store has one such row for a key.
template <typename Has>
RowRule CheckBeside(RowPlace place, const Has& has) {
  switch (place) {
    case RowPlace::kPending:
      return has(RowPlace::kPending) ? RowRule::kPendingTwice : RowRule::kNone;
    case RowPlace::kDelayed:
      if (has(RowPlace::kDelayed)) return RowRule::kDelayedTwice;
      return has(RowPlace::kQuarantine) ? RowRule::kDelayedAndQuarantined : RowRule::kNone;
    case RowPlace::kFailures:
      return has(RowPlace::kQuarantine) ? RowRule::kFailingAndQuarantined : RowRule::kNone;
    case RowPlace::kQuarantine:
      if (has(RowPlace::kQuarantine)) return RowRule::kQuarantinedTwice;
      if (has(RowPlace::kDelayed)) return RowRule::kDelayedAndQuarantined;
      return has(RowPlace::kFailures) ? RowRule::kFailingAndQuarantined : RowRule::kNone;
  }
  return RowRule::kNone;
}

}  // namespace wq::storage
