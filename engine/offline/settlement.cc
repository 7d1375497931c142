#include "engine/offline/settlement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/state/sequence_set.h"
#include "storage/queue_records.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/row.h"
#include "storage/row_rules.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/limiter.h"

namespace wq {

using storage::Family;
using storage::Mutation;
using storage::MutationBatch;
using storage::QueueId;
using storage::Row;
using storage::RowPlace;
using storage::RowRule;

namespace {

constexpr size_t kMaxLossBytes = 4096;

// The row's value with what is too long or out of range cut; nullopt if no cut makes it sound. The
// place of the row is the same.
std::optional<std::string> Cut(const Row& row) {
  const auto group = [](std::string_view name) {
    return name.size() > kMaxGroupBytes ? std::string_view() : name;
  };
  MutationBatch batch;
  if (row.broken() == RowRule::kKeyTooLong) return std::nullopt;
  if (const auto* pending = row.As<storage::PendingRecord>()) {
    storage::PendingRecord record = *pending;
    record.group = group(record.group);
    PutPending(row.queue(), record, &batch);
  } else if (const auto* delayed = row.As<storage::DelayedRecord>()) {
    storage::DelayedRecord record = *delayed;
    record.group = group(record.group);
    // With a shorter one an opening would end the delay before its ready time.
    const bool in_range = record.delay_us >= 0 && record.delay_us <= kMaxDelay.count();
    record.delay_us = in_range ? record.delay_us : kMaxDelay.count();
    PutDelayed(row.queue(), record, &batch);
  } else if (const auto* failures = row.As<storage::FailureRecord>()) {
    if (failures->count == 0) return std::nullopt;
    storage::FailureRecord record = *failures;
    record.last_error = record.last_error.substr(0, kMaxErrorBytes);
    PutFailures(row.queue(), record, &batch);
  } else if (const auto* state = row.As<storage::QueueStateRecord>()) {
    if (row.broken() == RowRule::kMarkRange) return std::nullopt;
    storage::QueueStateRecord record = *state;
    if (record.shards > kMaxShards) record.shards = 0;
    if (record.limiter_state.size() > kMaxLimiterStateBytes) record.limiter_state = {};
    PutQueueState(row.queue(), record, &batch);
  } else if (const auto* quarantined = row.As<storage::QuarantineRecord>()) {
    storage::QuarantineRecord record = *quarantined;
    record.group = group(record.group);
    record.failures.last_error = record.failures.last_error.substr(0, kMaxErrorBytes);
    PutQuarantine(row.queue(), record, &batch);
  }
  std::optional<std::string> value;
  batch.ForEach([&value](const Mutation& put) { value = put.value; });
  return value;
}

class Settlement {
 public:
  Settlement(storage::SalvagedRecords* records, RepairReport* report)
      : records_(records), report_(report) {}

  void Run();

 private:
  using Place = std::pair<Family, std::string>;  // Family and record key.
  using Keys = std::set<std::string, std::less<>>;
  struct Queue {
    std::string name;
    uint64_t high_water_mark = 0;
    uint64_t next_sequence = 0;  // Above all of the rows.
    Keys quarantined;
    Keys delayed;
    std::map<std::string, std::pair<uint64_t, Place>, std::less<>> pending;  // Sequence and place.
    std::map<std::string, storage::SourceId, std::less<>> youngest_sources;
    std::set<storage::SourceId> sources;
  };

  void Lose(std::string_view where, std::string_view what) {
    report_->losses.push_back({EscapeKey(where, kMaxLossBytes), EscapeKey(what, kMaxLossBytes)});
  }
  // "key 'a' is delayed and quarantined: its delay".
  void LoseOfKey(const Queue& queue, std::string_view key, RowRule broken, std::string_view what) {
    LoseOfQueue(queue, DescribeRow("key", key, broken).append(": ").append(what));
  }
  void LoseOfQueue(const Queue& queue, std::string escaped) {
    report_->losses.push_back(
        {EscapeKey("queue " + queue.name, kMaxLossBytes), std::move(escaped)});
  }
  // Drops the rows of a family that cannot be made sound, those of queue id 0, which no queue can
  // have, and those for which keep(row, place) is false.
  template <typename Keep>
  void ForEach(Family family, const Keep& keep);
  bool MakeSound(const Place& place, std::string* value, Row* row);
  void SettleQueues();
  void SettleKeys();
  bool KeepQueue(const Row& row);
  bool KeepState(const Row& row);
  bool KeepPending(const Row& row, const Place& place);
  bool KeepDelayed(const Row& row);
  bool KeepFailures(const Row& row);
  bool FindYoungest(const Row& row);
  bool KeepOfSource(const Row& row);
  void ForgetVersions();
  void SettleSequences(QueueId id, Queue* queue);
  void GiveSequence(const Place& place, uint64_t sequence);
  void SettleTokens();
  void PutState(QueueId id, uint64_t high_water_mark, bool outdated);
  void Put(const MutationBatch& batch);
  // `missing`: the rule that the queue's rows break if it has no record.
  Queue& QueueOf(QueueId id, RowRule missing = RowRule::kRowsOfNoQueue);

  storage::SalvagedRecords* const records_;
  RepairReport* const report_;
  std::map<QueueId, Queue> queues_;
  std::map<QueueId, std::string> of_imports_;  // Queues that a killed import left: dropped.
  std::set<Place> replaced_;                   // Rows that a younger row replaces.
  uint64_t rows_of_id_0_ = 0;
};

bool IsOfQueue(const Row& row, Family family) {
  return family != Family::kDefault || row.As<storage::QueueStateRecord>() != nullptr;
}

template <typename Keep>
void Settlement::ForEach(Family family, const Keep& keep) {
  Row row;
  auto record = records_->values.lower_bound({family, ""});
  while (record != records_->values.end() && record->first.first == family) {
    const bool sound = MakeSound(record->first, &record->second, &row);
    const bool of_id_0 = sound && IsOfQueue(row, family) && row.queue() == 0;
    rows_of_id_0_ += of_id_0 ? 1 : 0;
    const bool kept = sound && !of_id_0 && keep(row, record->first);
    record = kept ? std::next(record) : records_->values.erase(record);
  }
}

// Decodes the row, and cuts what can be cut. A sequence that is out of range is replaced later.
bool Settlement::MakeSound(const Place& place, std::string* value, Row* row) {
  Status decoded = row->Decode(place.first, place.second, *value);
  if (decoded.ok()) return true;
  if (row->broken() == RowRule::kSequenceRange) return true;
  Lose("a record", decoded.message());
  if (row->broken() == RowRule::kNone) return false;
  std::optional<std::string> cut = Cut(*row);
  if (!cut) return false;
  *value = *std::move(cut);
  decoded = row->Decode(place.first, place.second, *value);
  return decoded.ok() || row->broken() == RowRule::kSequenceRange;
}

Settlement::Queue& Settlement::QueueOf(QueueId id, RowRule missing) {
  Queue& queue = queues_[id];
  if (queue.name.empty()) {
    queue.name = "recovered-" + std::to_string(id);
    const std::string prefix(storage::kQueuePrefix);
    while (records_->values.contains({Family::kDefault, prefix + queue.name})) queue.name += '-';
    Lose("queue " + queue.name, std::string(TextOf(missing)) + ": it has a new name");
    MutationBatch batch;
    PutQueue({queue.name, id, Clock::System()->WallUs()}, &batch);
    Put(batch);
  }
  return queue;
}

void Settlement::Put(const MutationBatch& batch) {
  batch.ForEach([this](const Mutation& put) {
    records_->values[{put.family, std::string(put.key)}] = put.value;
  });
}

bool Settlement::KeepQueue(const Row& row) {
  if (row.As<storage::StoreRecord>()) return false;  // The new store has a record of its own.
  if (row.As<Row::Removed>()) return false;
  const auto* const record = row.As<storage::QueueRecord>();
  if (record == nullptr) return true;
  const std::string& name = record->name;
  if (storage::IsOfImport(name)) {
    of_imports_.emplace(row.queue(), name);
    return false;
  }
  Queue& queue = queues_[row.queue()];
  if (!queue.name.empty()) {
    Lose("queue " + name, std::string(TextOf(RowRule::kQueueIdTwice)) + " " + queue.name);
    return false;
  }
  queue.name = name;
  return true;
}

bool Settlement::KeepState(const Row& row) {
  const auto* const state = row.As<storage::QueueStateRecord>();
  if (state == nullptr) return true;
  if (of_imports_.contains(row.queue())) return false;
  QueueOf(row.queue(), RowRule::kStateOfNoQueue).high_water_mark = state->sequence_high_water;
  return true;
}

void Settlement::SettleQueues() {
  ForEach(Family::kDefault, [this](const Row& row, const Place&) { return KeepQueue(row); });
  // An import's name that was erased may be salvaged, beside the name that followed it.
  std::erase_if(of_imports_, [this](const auto& import) {
    const auto named = queues_.find(import.first);
    if (named == queues_.end()) return false;
    Lose("queue " + import.second,
         std::string(TextOf(RowRule::kQueueIdTwice)) + " " + named->second.name);
    return true;
  });
  ForEach(Family::kDefault, [this](const Row& row, const Place&) { return KeepState(row); });
}

bool Settlement::KeepPending(const Row& row, const Place& place) {
  Queue& queue = QueueOf(row.queue());
  const uint64_t sequence = row.As<storage::PendingRecord>()->sequence;
  if (sequence <= storage::kMaxSequence) {
    queue.next_sequence = std::max(queue.next_sequence, sequence + 1);
  }
  const auto other = queue.pending.find(row.key());
  const RowRule broken = storage::CheckBeside(RowPlace::kPending, [&](RowPlace p) {
    return p == RowPlace::kPending && other != queue.pending.end();
  });
  if (broken == RowRule::kNone) {
    queue.pending.emplace(row.key(), std::pair(sequence, place));
    return true;
  }
  LoseOfKey(queue, row.key(), broken, "its older place");
  if (other->second.first > sequence) return false;
  replaced_.insert(other->second.second);
  other->second = {sequence, place};
  return true;
}

// Rows are in the order of their ready times, and the earliest delay wins, as in AddAfter.
bool Settlement::KeepDelayed(const Row& row) {
  Queue& queue = QueueOf(row.queue());
  const RowRule broken = storage::CheckBeside(RowPlace::kDelayed, [&](RowPlace place) {
    return place == RowPlace::kDelayed ? queue.delayed.contains(row.key())
                                       : queue.quarantined.contains(row.key());
  });
  if (broken == RowRule::kNone) {
    queue.delayed.emplace(row.key());
    return true;
  }
  LoseOfKey(queue, row.key(), broken,
            broken == RowRule::kDelayedTwice ? "the later delay" : "its delay");
  return false;
}

bool Settlement::KeepFailures(const Row& row) {
  const Queue& queue = QueueOf(row.queue());
  const RowRule broken = storage::CheckBeside(RowPlace::kFailures, [&](RowPlace place) {
    return place == RowPlace::kQuarantine && queue.quarantined.contains(row.key());
  });
  if (broken == RowRule::kNone) return true;
  LoseOfKey(queue, row.key(), broken, "its older failures");
  return false;
}

// Of one name the source with the highest id is the youngest: a later one is given a higher id.
bool Settlement::FindYoungest(const Row& row) {
  if (const auto* const source = row.As<storage::SourceRecord>()) {
    storage::SourceId& youngest = QueueOf(row.queue()).youngest_sources[std::string(source->name)];
    youngest = std::max(youngest, source->id);
  }
  return true;
}

// A source's own row is before those of its objects.
bool Settlement::KeepOfSource(const Row& row) {
  Queue& queue = QueueOf(row.queue());
  RowRule broken = RowRule::kNone;
  const auto* const object = row.As<storage::ObjectRecord>();
  const auto* const source = row.As<storage::SourceRecord>();
  if (object != nullptr) {
    if (!queue.sources.contains(object->source)) broken = RowRule::kObjectOfNoSource;
  } else if (!source->name.empty() &&
             queue.youngest_sources.find(source->name)->second != source->id) {
    broken = RowRule::kSourceTwice;
  } else {
    queue.sources.insert(source->id);
  }
  if (broken == RowRule::kNone) return true;
  LoseOfQueue(queue, object != nullptr ? DescribeRow("object", object->object, broken)
                                       : DescribeRow("source", source->name, broken));
  return false;
}

// What is lost may be the Adds of an object, or its newer row: so all count as changed.
void Settlement::ForgetVersions() {
  if (report_->losses.empty()) return;
  ForEach(Family::kSources, [this](const Row& row, const Place& place) {
    const auto* const object = row.As<storage::ObjectRecord>();
    if (object == nullptr) return true;
    storage::ObjectRecord record = *object;
    record.version = {};
    MutationBatch batch;
    PutObject(row.queue(), record, &batch);
    batch.ForEach([&](const Mutation& put) { records_->values[place] = put.value; });
    return true;
  });
}

void Settlement::SettleKeys() {
  const auto for_each = [this](Family family, const auto& keep) {
    ForEach(family, [&](const Row& row, const Place& place) {
      return !of_imports_.contains(row.queue()) && keep(row, place);
    });
  };
  for_each(Family::kQuarantine, [this](const Row& row, const Place&) {
    QueueOf(row.queue()).quarantined.emplace(row.key());
    return true;
  });
  const auto pending = [this](const Row& row, const Place& p) { return KeepPending(row, p); };
  for_each(Family::kDirty, pending);
  for_each(Family::kLanes, pending);
  for_each(Family::kDelayed, [this](const Row& row, const Place&) { return KeepDelayed(row); });
  for_each(Family::kFailures, [this](const Row& row, const Place&) { return KeepFailures(row); });
  for_each(Family::kCursors, [this](const Row& row, const Place&) {
    QueueOf(row.queue());
    return true;
  });
  for_each(Family::kSources, [this](const Row& row, const Place&) { return FindYoungest(row); });
  for_each(Family::kSources, [this](const Row& row, const Place&) { return KeepOfSource(row); });
  for (const Place& place : replaced_) records_->values.erase(place);
}

// Afterwards no two keys have the same sequence, and all sequences are below the mark.
void Settlement::SettleSequences(QueueId id, Queue* queue) {
  const bool outdated = queue->high_water_mark < queue->next_sequence;
  if (outdated) {
    Lose("queue " + queue->name, "its state, as a key " +
                                     std::string(TextOf(RowRule::kSequenceAboveMark)) +
                                     ": shards, a pause and the limiter's state");
  }
  uint64_t next = std::max<uint64_t>({1, queue->high_water_mark, queue->next_sequence});
  SequenceSet taken;
  for (const auto& [key, row] : queue->pending) {
    const auto& [sequence, place] = row;
    RowRule broken = RowRule::kNone;
    if (sequence > storage::kMaxSequence) {
      broken = RowRule::kSequenceRange;
    } else if (!taken.Insert(sequence)) {
      broken = RowRule::kSequenceTwice;
    }
    if (broken == RowRule::kNone) continue;
    LoseOfKey(*queue, key, broken, "its place in the lane");
    GiveSequence(place, next++);
  }
  if (!queue->pending.empty() && queue->high_water_mark < next) PutState(id, next, outdated);
}

void Settlement::GiveSequence(const Place& place, uint64_t sequence) {
  const auto found = records_->values.find(place);
  Row row;
  const Status decoded = row.Decode(place.first, place.second, found->second);
  static_cast<void>(decoded);  // The sequence may be out of range.
  storage::PendingRecord record = *row.As<storage::PendingRecord>();
  record.sequence = sequence;
  MutationBatch batch;
  PutPending(row.queue(), record, &batch);
  records_->values.erase(found);
  Put(batch);
}

// Raises the mark of the salvaged state; an outdated state is replaced.
void Settlement::PutState(QueueId id, uint64_t high_water_mark, bool outdated) {
  storage::QueueStateRecord state;
  Row row;
  const auto found = records_->values.find({Family::kDefault, storage::StateKey(id)});
  if (!outdated && found != records_->values.end() &&
      row.Decode(Family::kDefault, found->first.second, found->second).ok()) {
    state = *row.As<storage::QueueStateRecord>();
  }
  state.sequence_high_water = high_water_mark;
  MutationBatch batch;
  PutQueueState(id, state, &batch);
  Put(batch);
}

// If the record of the tokens may be lost or old, the next token is beyond all that can have been
// reserved: a store that has reserved less than a million tokens a second is behind the clock.
void Settlement::SettleTokens() {
  if (report_->losses.empty()) return;
  storage::TokensRecord tokens;
  Row row;
  const auto found = records_->values.find({Family::kDefault, std::string(storage::kTokensKey)});
  if (found != records_->values.end() &&
      row.Decode(Family::kDefault, found->first.second, found->second).ok()) {
    tokens = *row.As<storage::TokensRecord>();
  }
  tokens.next = std::max(tokens.next, static_cast<uint64_t>(Clock::System()->WallUs()));
  MutationBatch batch;
  PutTokens(tokens, &batch);
  Put(batch);
}

void Settlement::Run() {
  SettleQueues();
  SettleKeys();
  if (rows_of_id_0_ > 0) {
    Lose("queue id 0",
         std::to_string(rows_of_id_0_) + " " + std::string(TextOf(RowRule::kRowsOfNoQueue)));
  }
  for (auto& [id, queue] : queues_) SettleSequences(id, &queue);
  ForgetVersions();
  report_->queues = queues_.size();
  report_->records = records_->values.size();
  SettleTokens();
}

}  // namespace

void Settle(storage::SalvagedRecords* records, RepairReport* report) {
  Settlement(records, report).Run();
}

}  // namespace wq
