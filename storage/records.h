// The records of a store as plain structs: appending them to batches and reading them back.
//
//   MutationBatch batch;
//   PutPending(queue, {.key = "pod-7", .sequence = 42, .added_at_us = now_us}, &batch);
//   Status s = ScanPending(reader, queue, [](const PendingRecord& record) { … return true; });
//
// docs/format.md describes keys and values on disk; all other code reaches them through this file.
// Thread-safe for distinct arguments.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq::storage {

using QueueId = uint32_t;
using SourceId = uint32_t;

// Pending keys are stored in blocks of this many sequence numbers: blocks in order, and keys within
// a block by their bytes. So a reader streams the hand-out order by sorting one block at a time,
// and finds a key with one look-up per block. It is on disk: never change it.
inline constexpr int kSequenceBlockBits = 13;
inline constexpr uint64_t kSequencesPerBlock = uint64_t{1} << kSequenceBlockBits;

struct StoreRecord {
  uint32_t format_version = 0;
  std::string uuid;
  int64_t created_at_us = 0;
};

// How far the database has come in the process log (process_log.h).
struct ProcessLogRecord {
  uint64_t number = 0;    // Of the last process log; 0: there was none.
  uint64_t position = 0;  // Everything before it in that log is in the database.
  bool closed = false;    // Everything in that log is in the database; its file is of no use.
  bool InUse() const { return number != 0 && !closed; }
};

// The numbers of Store::ReserveTokens.
struct TokensRecord {
  uint64_t next = 1;  // No token at or above it was ever reserved.
};

// How far a replica's store has come in the log of its store (wq/replicated_log.h).
struct ReplicationRecord {
  uint64_t epoch = 0;     // Of the last group of entries that the store has.
  uint64_t sequence = 0;  // Of the last entry of that group; 0: it has none.
  bool seeded = false;    // Whether the store is a copy; otherwise a checkpoint is missing.
};

// What the process log had beyond the store when its owner ended.
struct AheadRecord {
  uint64_t epoch = 0;     // The store was then as a ReplicationRecord of this epoch and …
  uint64_t sequence = 0;  // … sequence.
  std::string mutations;  // Empty: there is none.
};

struct QueueRecord {
  std::string name;
  QueueId id = 0;
  int64_t created_at_us = 0;
};

// What a queue keeps beside its keys.
struct QueueStateRecord {
  uint64_t sequence_high_water = 0;     // No sequence at or above it was ever assigned.
  std::string_view limiter_state = {};  // Limiter::SaveState.
  bool paused = false;
  int64_t paused_until_us = 0;  // When a pause ends by itself; 0 if it does not.
  uint32_t shards = 0;          // Of the last opening that had any.
  int64_t pause_us = 0;         // Of a pause that ends by itself: as requested; 0: not known.
  int64_t paused_at_us = 0;     // Its begin.
};

struct PendingRecord {
  std::string_view key = {};
  Lane lane = kFastLane;
  uint64_t sequence = 0;
  int64_t added_at_us = 0;
  std::string_view group = {};   // Empty: none.
  std::string_view causes = {};  // As EncodeCauses writes them; empty: none.
};

struct DelayedRecord {
  std::string_view key = {};
  int64_t ready_at_us = 0;
  int64_t delay_us = 0;
  int64_t added_at_us = 0;
  Lane lane = kFastLane;
  std::string_view group = {};   // Empty: none.
  std::string_view causes = {};  // As EncodeCauses writes them; empty: none.
  bool debounced = false;        // Further Adds of the key prolong the delay.
  bool resync = false;           // See QueueOptions::resync.
};

struct FailureRecord {
  std::string_view key = {};
  uint64_t count = 0;
  int64_t first_at_us = 0;
  int64_t last_at_us = 0;
  std::string_view last_error = {};
};

// A key that is not handed out: it failed too often, or a caller quarantined it.
struct QuarantineRecord {
  FailureRecord failures = {};  // At quarantine; until release the key has no other FailureRecord.
  int64_t quarantined_at_us = 0;
  Lane lane = kFastLane;        // The lane of its Add when it is released.
  std::string_view group = {};  // Empty: none.
};

struct CursorRecord {
  std::string_view name = {};
  std::string_view value = {};
};

// A source of objects (wq/source.h).
struct SourceRecord {
  SourceId id = 0;
  std::string_view name = {};  // Empty: it is removed, and its objects are to be erased.
  uint64_t fingerprint = 0;    // Hashes of those of the last list.
  uint64_t scope = 0;
};

struct ObjectRecord {
  SourceId source = 0;
  std::string_view object = {};
  std::string_view version = {};  // Empty: it counts as changed.
  uint64_t fingerprint = 0;       // Of its source, when it was observed.
  uint64_t scope = 0;
  std::string_view keys = {};  // As EncodeKeys writes them.
  std::string_view tombstone = {};
};

// The views of a record, in an order that does not change.
inline auto ViewsOf(QueueStateRecord* r) { return std::array{&r->limiter_state}; }
inline auto ViewsOf(PendingRecord* r) { return std::array{&r->key, &r->group, &r->causes}; }
inline auto ViewsOf(DelayedRecord* r) { return std::array{&r->key, &r->group, &r->causes}; }
inline auto ViewsOf(FailureRecord* r) { return std::array{&r->key, &r->last_error}; }
inline auto ViewsOf(QuarantineRecord* r) {
  return std::array{&r->failures.key, &r->failures.last_error, &r->group};
}
inline auto ViewsOf(CursorRecord* r) { return std::array{&r->name, &r->value}; }
inline auto ViewsOf(SourceRecord* r) { return std::array{&r->name}; }
inline auto ViewsOf(ObjectRecord* r) {
  return std::array{&r->object, &r->version, &r->keys, &r->tombstone};
}

// Replaces *bytes by a copy of what the views of the record point to, and lets them point there.
// REQUIRES: none of them points into *bytes.
template <typename Record>
void KeepViews(Record* record, std::string* bytes) {
  bytes->clear();
  for (const std::string_view* view : ViewsOf(record)) bytes->append(*view);
  size_t at = 0;
  for (std::string_view* view : ViewsOf(record)) {
    *view = std::string_view(*bytes).substr(at, view->size());
    at += view->size();
  }
}

// --- Writing: each call appends one mutation. ---

void PutStore(const StoreRecord& record, MutationBatch* batch);
void PutProcessLog(const ProcessLogRecord& record, MutationBatch* batch);
void PutTokens(const TokensRecord& record, MutationBatch* batch);
void PutReplication(const ReplicationRecord& record, MutationBatch* batch);
void PutAhead(const AheadRecord& record, MutationBatch* batch);
void EraseAhead(MutationBatch* batch);
void EraseReplication(MutationBatch* batch);
// Whether the row belongs to this copy of the store, and not to the store: it is neither in the log
// nor in a checkpoint, and differs between replicas.
bool IsOfCopy(Family family, std::string_view key);
void PutQueue(const QueueRecord& record, MutationBatch* batch);
void PutQueueState(QueueId queue, const QueueStateRecord& record, MutationBatch* batch);

void PutPending(QueueId queue, const PendingRecord& record, MutationBatch* batch);
// Erases the record that PutPending wrote with this lane, sequence and key.
void ErasePending(QueueId queue, Lane lane, uint64_t sequence, std::string_view key,
                  MutationBatch* batch);
// Whether records of one key and lane with these sequences have the same record key on disk, so
// that putting one overwrites the other.
inline bool SamePlace(uint64_t a, uint64_t b) {
  return (a >> kSequenceBlockBits) == (b >> kSequenceBlockBits);
}

void PutDelayed(QueueId queue, const DelayedRecord& record, MutationBatch* batch);
void EraseDelayed(QueueId queue, int64_t ready_at_us, std::string_view key, MutationBatch* batch);

void PutFailures(QueueId queue, const FailureRecord& record, MutationBatch* batch);
void EraseFailures(QueueId queue, std::string_view key, MutationBatch* batch);

void PutQuarantine(QueueId queue, const QuarantineRecord& record, MutationBatch* batch);
void EraseQuarantine(QueueId queue, std::string_view key, MutationBatch* batch);

void PutCursor(QueueId queue, const CursorRecord& record, MutationBatch* batch);
void EraseCursor(QueueId queue, std::string_view name, MutationBatch* batch);

void PutSource(QueueId queue, const SourceRecord& record, MutationBatch* batch);
void EraseSource(QueueId queue, SourceId source, MutationBatch* batch);
void PutObject(QueueId queue, const ObjectRecord& record, MutationBatch* batch);
void EraseObject(QueueId queue, SourceId source, std::string_view object, MutationBatch* batch);

// The bytes of the keys of an object in its record, and back. False: they cannot be decoded. The
// keys point into `bytes` and `object`.
std::string EncodeKeys(std::span<const std::string_view> keys, std::string_view object);
bool DecodeKeys(std::string_view bytes, std::string_view object,
                std::vector<std::string_view>* keys);

// The bytes of `causes` in a record; empty for no causes.
std::string EncodeCauses(const Causes& causes);
// What is too much or cannot be decoded is left out: causes only explain.
Causes DecodeCauses(std::string_view bytes);

// --- Reading. Corruption names the family and the key of a record that cannot be decoded. ---

// NotFound if there is none.
Status GetStore(const Reader& reader, StoreRecord* record);
// A store without the record had no process log yet.
Status GetProcessLog(const Reader& reader, ProcessLogRecord* record);
// A store without the record has reserved no token yet.
Status GetTokens(const Reader& reader, TokensRecord* record);
// NotFound: the store is not replicated.
Status GetReplication(const Reader& reader, ReplicationRecord* record);
// A store without the record has nothing ahead.
Status GetAhead(const Reader& reader, AheadRecord* record);
// Appends to `batch` what ends a replica: the mutations of its AheadRecord, which were
// acknowledged, and the erasure of both records. Of a store that is no replica it changes nothing.
Status EndReplica(const Reader& reader, MutationBatch* batch);
// The views in `record` point into `value_buffer`.
Status GetQueueState(const Reader& reader, QueueId queue, std::string* value_buffer,
                     QueueStateRecord* record);
Status GetFailures(const Reader& reader, QueueId queue, std::string_view key,
                   std::string* value_buffer, FailureRecord* record);
Status GetQuarantine(const Reader& reader, QueueId queue, std::string_view key,
                     std::string* value_buffer, QuarantineRecord* record);

// As GetFailures.
Status GetObject(const Reader& reader, QueueId queue, SourceId source, std::string_view object,
                 std::string* value_buffer, ObjectRecord* record);

// Each visits until the visitor returns false; views are valid during the call only.
Status ScanQueues(const Reader& reader, const std::function<bool(const QueueRecord&)>& visit);
// In hand-out order: higher lanes first, by sequence within a lane. Memory: one block of records.
Status ScanPending(const Reader& reader, QueueId queue,
                   const std::function<bool(const PendingRecord&)>& visit);
// The same records in the order on disk, unsorted. For counting.
Status ScanPendingUnordered(const Reader& reader, QueueId queue,
                            const std::function<bool(const PendingRecord&)>& visit);
// By ready time, then key.
Status ScanDelayed(const Reader& reader, QueueId queue,
                   const std::function<bool(const DelayedRecord&)>& visit);
// By key.
Status ScanFailures(const Reader& reader, QueueId queue,
                    const std::function<bool(const FailureRecord&)>& visit);
// By key.
Status ScanQuarantine(const Reader& reader, QueueId queue,
                      const std::function<bool(const QuarantineRecord&)>& visit);
// By name.
Status ScanCursors(const Reader& reader, QueueId queue,
                   const std::function<bool(const CursorRecord&)>& visit);

// By source: each, followed by its objects by their bytes.
Status ScanSources(const Reader& reader, QueueId queue,
                   const std::function<bool(const SourceRecord&)>& visit_source,
                   const std::function<bool(const ObjectRecord&)>& visit_object);
// The objects of a source behind `after`, by their bytes.
Status ScanObjects(const Reader& reader, QueueId queue, SourceId source, std::string_view after,
                   const std::function<bool(const ObjectRecord&)>& visit);

// The pending record of `key`, by one look-up in each block that is not empty. NotFound.
// The views in `record` point into `value_buffer`.
Status FindPending(const Reader& reader, QueueId queue, std::string_view key,
                   std::string* value_buffer, PendingRecord* record);

// How many pending keys are handed out before the key of this lane and sequence. Up to
// `max_counted` records are counted one by one; of the blocks beyond, each that is not empty may be
// full.
Status CountPendingBefore(const Reader& reader, QueueId queue, Lane lane, uint64_t sequence,
                          uint64_t max_counted, uint64_t* at_least, uint64_t* at_most);

}  // namespace wq::storage
