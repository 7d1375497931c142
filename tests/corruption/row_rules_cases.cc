#include "row_rules_cases.h"

#include <utility>

#include "storage/record_keys.h"
#include "storage/records.h"
#include "tests/storage/support.h"

namespace wq::storage {

Entry EntryOf(const std::string& key, EntryState state, uint64_t sequence) {
  Entry entry;
  entry.key = key;
  entry.state = state;
  entry.sequence = sequence;
  if (state == EntryState::kQuarantined || state == EntryState::kFailing) {
    entry.failures = FailureInfo{1, 1, 1, "e"};
  }
  return entry;
}

namespace {

// Adds all of them; all but the last one succeed.
std::function<Status(Importer*)> Adding(std::vector<Entry> entries) {
  return [entries = std::move(entries)](Importer* importer) {
    Status status;
    for (const Entry& entry : entries) {
      EXPECT_OK(status);
      status = importer->Add("pods", entry);
    }
    return status;
  };
}

std::function<Status(Importer*)> Changed(const std::function<void(Entry*)>& change,
                                         EntryState state = EntryState::kPending) {
  Entry entry = EntryOf("a", state);
  change(&entry);
  return Adding({entry});
}

std::function<Status(Importer*)> WithQueue(const std::function<void(QueueInfo*)>& change) {
  return [change](Importer* importer) {
    QueueInfo info;
    info.name = "pods";
    change(&info);
    return importer->SetQueue(info);
  };
}

const std::string kLongKey(kMaxKeyBytes + 1, 'k');       // NOLINT(cert-err58-cpp)
const std::string kLongGroup(kMaxGroupBytes + 1, 'g');   // NOLINT(cert-err58-cpp)
const std::string kLongError(kMaxErrorBytes + 1, 'e');   // NOLINT(cert-err58-cpp)
const std::string kLongValue(kMaxCursorBytes + 1, 'v');  // NOLINT(cert-err58-cpp)
const std::string kLongState(size_t{64} << 10, 's');     // NOLINT(cert-err58-cpp)
constexpr int64_t kLongDelay = kMaxDelay.count() + 1;

}  // namespace

std::vector<Case> CasesOfOneRow() {
  using enum Opening;
  return {
      {"key, pending",
       RowRule::kKeyTooLong,
       kRefuses,
       [](auto* b) { PutPending(1, {.key = kLongKey, .sequence = 5}, b); },
       {},
       Changed([](Entry* e) { e->key = kLongKey; })},
      {"key, delayed", RowRule::kKeyTooLong, kRefuses,
       [](auto* b) { PutDelayed(1, {.key = kLongKey, .ready_at_us = 5, .delay_us = 1}, b); }},
      {"key, failures", RowRule::kKeyTooLong, kRefuses,
       [](auto* b) { PutFailures(1, {.key = kLongKey, .count = 1}, b); }},
      {"key, quarantine", RowRule::kKeyTooLong, kRefuses,
       [](auto* b) { PutQuarantine(1, {.failures = {.key = kLongKey}}, b); }},
      {"group, pending",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) { PutPending(1, {.key = "a", .sequence = 5, .group = kLongGroup}, b); },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; })},
      {"group, delayed",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) {
         PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = 1, .group = kLongGroup}, b);
       },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; }, EntryState::kDelayed)},
      {"group, quarantine",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) { PutQuarantine(1, {.failures = {.key = "a"}, .group = kLongGroup}, b); },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; }, EntryState::kQuarantined)},
      {"error, failures",
       RowRule::kErrorTooLong,
       kRefuses,
       [](auto* b) { PutFailures(1, {.key = "a", .count = 1, .last_error = kLongError}, b); },
       {"a"},
       Changed([](Entry* e) { e->failures->last_error = kLongError; }, EntryState::kFailing)},
      {"error, quarantine",
       RowRule::kErrorTooLong,
       kRefuses,
       [](auto* b) { PutQuarantine(1, {.failures = {.key = "a", .last_error = kLongError}}, b); },
       {"a"},
       Changed([](Entry* e) { e->failures->last_error = kLongError; }, EntryState::kQuarantined)},
      {"negative delay",
       RowRule::kDelayRange,
       kRefuses,
       [](auto* b) { PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = -1}, b); },
       {"a"},
       Changed([](Entry* e) { e->delay_us = -1; }, EntryState::kDelayed)},
      {"long delay and group",
       RowRule::kGroupTooLong,
       kRefuses,
       [](auto* b) {
         PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = kLongDelay, .group = kLongGroup},
                    b);
       },
       {"a"},
       Changed([](Entry* e) { e->group = kLongGroup; }, EntryState::kDelayed)},
      {"long delay",
       RowRule::kDelayRange,
       kRefuses,
       [](auto* b) { PutDelayed(1, {.key = "a", .ready_at_us = 5, .delay_us = kLongDelay}, b); },
       {"a"},
       Changed([](Entry* e) { e->delay_us = kLongDelay; }, EntryState::kDelayed)},
      {"high sequences",
       RowRule::kSequenceRange,
       kRefuses,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = UINT64_MAX}, b);
         PutPending(1, {.key = "b", .lane = kSlowLane, .sequence = kMaxSequence + 1}, b);
         PutPending(1, {.key = "c", .sequence = 5}, b);
       },
       {"a", "b", "c"},
       Changed([](Entry* e) { e->sequence = kMaxSequence + 1; })},
      {"no failures",
       RowRule::kNoFailures,
       kRefuses,
       [](auto* b) { PutFailures(1, {.key = "a"}, b); },
       {},
       Changed([](Entry* e) { e->failures->count = 0; }, EntryState::kFailing)},
      {"cursor's name", RowRule::kCursorName, kRefuses,
       [](auto* b) {
         PutCursor(1, {"a b", "v"}, b);
       }},
      {"cursor's value",
       RowRule::kCursorTooLong,
       kRefuses,
       [](auto* b) {
         PutCursor(1, {"c", kLongValue}, b);
       },
       {},
       [](Importer* i) { return i->SetCursor("pods", "c", kLongValue); }},
  };
}

std::vector<Case> CasesOfOneKey() {
  using enum Opening;
  const auto pending = [](MutationBatch* b, std::string_view key, uint64_t sequence,
                          Lane lane = kFastLane) {
    PutPending(1, {.key = key, .lane = lane, .sequence = sequence}, b);
  };
  const auto delayed = [](MutationBatch* b, int64_t at_us) {
    PutDelayed(1, {.key = "a", .ready_at_us = at_us, .delay_us = 1}, b);
  };
  const auto quarantined = [](MutationBatch* b) {
    PutQuarantine(1, {.failures = {.key = "a"}}, b);
  };
  using State = EntryState;
  return {
      {"pending in two lanes",
       RowRule::kPendingTwice,
       kRefuses,
       [=](auto* b) {
         pending(b, "a", 5);
         pending(b, "a", 6, kSlowLane);
       },
       {"a"},
       Adding({EntryOf("a", State::kPending), EntryOf("a", State::kPending)})},
      {"pending in two blocks",
       RowRule::kPendingTwice,
       kRefuses,
       [=](auto* b) {
         PutQueueState(1, {.sequence_high_water = 3 * kSequencesPerBlock}, b);
         pending(b, "a", 5);
         pending(b, "a", 5 + kSequencesPerBlock);
         pending(b, "b", 6);
       },
       {"a", "b"}},
      {"a quarantined key is pending twice",
       RowRule::kPendingTwice,
       kRefuses,
       [=](auto* b) {
         pending(b, "a", 5);
         pending(b, "a", 6, kSlowLane);
         quarantined(b);
       },
       {"a"}},
      {"delayed twice",
       RowRule::kDelayedTwice,
       kRefuses,
       [=](auto* b) {
         delayed(b, 5);
         delayed(b, 6);
       },
       {"a"},
       Adding({EntryOf("a", State::kDelayed), EntryOf("a", State::kDelayed)})},
      {"delayed and quarantined",
       RowRule::kDelayedAndQuarantined,
       kRefuses,
       [=](auto* b) {
         delayed(b, 5);
         quarantined(b);
       },
       {"a"},
       Adding({EntryOf("a", State::kDelayed), EntryOf("a", State::kQuarantined)})},
      {"quarantined and delayed",
       RowRule::kDelayedAndQuarantined,
       kRefuses,
       [=](auto* b) {
         quarantined(b);
         delayed(b, 5);
       },
       {"a"},
       Adding({EntryOf("a", State::kQuarantined), EntryOf("a", State::kDelayed)})},
      {"failing and quarantined",
       RowRule::kFailingAndQuarantined,
       kRefuses,
       [=](auto* b) {
         PutFailures(1, {.key = "a", .count = 1}, b);
         quarantined(b);
       },
       {"a"},
       Adding({EntryOf("a", State::kFailing), EntryOf("a", State::kQuarantined)})},
  };
}

std::vector<Case> CasesOfQueues() {
  using enum Opening;
  using State = EntryState;
  return {
      // An import raises the mark.
      {"above the mark",
       RowRule::kSequenceAboveMark,
       kRefuses,
       [](auto* b) { PutPending(1, {.key = "a", .sequence = 100}, b); },
       {"a"}},
      {"no state",
       RowRule::kSequenceAboveMark,
       kRefuses,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = 5}, b);
         b->Erase(Family::kDefault, StateKey(1));
       },
       {"a"}},
      {"one sequence in a lane",
       RowRule::kSequenceTwice,
       Opening::kSettles,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = 5}, b);
         PutPending(1, {.key = "b", .sequence = 5}, b);
       },
       {"a", "b"},
       Adding({EntryOf("a", State::kPending, 5), EntryOf("b", State::kPending, 5)})},
      {"one sequence in two lanes",
       RowRule::kSequenceTwice,
       Opening::kSettles,
       [](auto* b) {
         PutPending(1, {.key = "a", .sequence = 5}, b);
         PutPending(1, {.key = "b", .lane = kSlowLane, .sequence = 5}, b);
         PutPending(1, {.key = "c", .lane = 7, .sequence = 5}, b);
       },
       {"a", "b", "c"},
       // The first key gets the sequence 1.
       Adding({EntryOf("a", State::kPending), EntryOf("b", State::kPending, 1)})},
      {"mark",
       RowRule::kMarkRange,
       kRefuses,
       [](auto* b) {
         PutQueueState(1, {.sequence_high_water = UINT64_MAX}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"},
       WithQueue([](QueueInfo* info) { info->sequence_high_water = UINT64_MAX; })},
      {"shards",
       RowRule::kShards,
       kRefuses,
       [](auto* b) {
         PutQueueState(1, {.sequence_high_water = 100, .shards = kMaxShards + 1}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"},
       WithQueue([](QueueInfo* info) { info->shards = kMaxShards + 1; })},
      {"limiter state",
       RowRule::kLimiterStateTooLong,
       kRefuses,
       [](auto* b) {
         PutQueueState(1, {.sequence_high_water = 100, .limiter_state = kLongState}, b);
       },
       {},
       WithQueue([](QueueInfo* info) { info->limiter_state = kLongState; })},
      {"queue name", RowRule::kQueueName, kRefuses,
       [](auto* b) {
         PutQueue({"a b", 2, 1}, b);
       }},
      {"queue without an id", RowRule::kNoQueueId, kRefuses,
       [](auto* b) {
         PutQueue({"zero", 0, 1}, b);
       }},
      {"two queues of one id",
       RowRule::kQueueIdTwice,
       kRefuses,
       [](auto* b) {
         PutQueue({"twin", 1, 1}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"}},
      {"a killed import's name of the same id",
       RowRule::kQueueIdTwice,
       kRefuses,
       [](auto* b) {
         PutQueue({"pods~loading", 1, 1}, b);
         PutPending(1, {.key = "a", .sequence = 5}, b);
       },
       {"a"}},
      {"no next token", RowRule::kNoTokens, kRefuses, [](auto* b) { PutTokens({.next = 0}, b); }},
      {"state of no queue", RowRule::kStateOfNoQueue, kIsUnchecked,
       [](auto* b) { PutQueueState(2, {.sequence_high_water = 5}, b); }},
      {"rows of no queue", RowRule::kRowsOfNoQueue, kIsUnchecked,
       [](auto* b) { PutPending(2, {.key = "a", .sequence = 5}, b); }},
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = CasesOfOneRow();
  for (const auto& more : {CasesOfOneKey(), CasesOfQueues()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace wq::storage
