// Queue::Impl::ObserveCall: an observation, or a deletion, on its way through queue_observe.cc.
#pragma once

#include <absl/container/inlined_vector.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/queue/check_arguments.h"
#include "engine/queue/queue_impl.h"
#include "storage/queue_records.h"
#include "wq/source.h"

namespace wq {

// The keys of an observation, encoded: each once and sorted, so an object whose keys come in
// another order is the same.
std::string EncodeKeySet(const Observation& observation);

// What is referred to must outlive the call.
struct Queue::Impl::ObserveCall {
  static constexpr size_t kFew = 16;  // Keys that are prefetched, or compared with each other.

  // `to` may be null.
  ObserveCall(std::string_view of, const Observation& what, const AddOptions& with,
              ObserveResult* to)
      : source(of),
        observation(what),
        options(with),
        result(to == nullptr ? &unwanted : to),
        id(what.object),
        bad(CheckObservation(what)),
        encoded(bad.ok() ? EncodeKeySet(what) : std::string()) {
    *result = {};
    if (what.before != nullptr) {
      what.before->object.clear();
    }
  }
  // Of a list, a deletion does nothing if the object was seen since the list began.
  bool OnlyUnseen() const { return deleted && list != 0; }
  void AppendKeys(std::span<const std::string_view> more);  // To `keys`, those that are not there.
  // Whether the call may stand for a change, so that what is observed meanwhile must not pass for
  // all that has happened.
  bool MayBeChange() const { return !observation.filtered || unseen; }
  // The object's row as the observation makes it. *needs_row: it keeps something of the present
  // one, which is in it if it was read.
  storage::ObjectRecord RecordOf(const TrackedObject& object, bool* needs_row) const;
  // Whether every change of the object before this observation is known to have been observed:
  // none was refused or is still being observed, and the object was seen since the list began, or
  // has the version of its row.
  bool FollowsAll(const ObjectFacts* facts, const storage::ObjectRecord& record) const;
  void JoinKeys();  // Sets `joined`.
  // Of an observation that keeps the row's keys: whether these are known without reading it, and
  // nothing else of it is kept. Then sets those of the record.
  bool KnowsRow(const ObjectFacts& facts, storage::ObjectRecord* record) const;
  void CompareRead(const ObjectFacts& facts);  // With what was read, at each hold of the lock.
  // Whether the row was read that has these facts, or the files have lost it.
  bool HasRead(const ObjectFacts& facts) const;
  void ForgetRow();  // One that is not there any more.
  // Whether the row has another version: not only another fingerprint or scope, as its facts may.
  bool IsAnotherRow() const;
  void ReturnRow();  // To observation.before.
  // Whether a key stays as it is: the object has it, as before, and is the same.
  bool LeavesKey(size_t at) const { return same_object && at < in_row.size() && in_row[at]; }

  ObserveResult unwanted;
  const std::string_view source;
  const Observation& observation;
  const AddOptions& options;
  ObserveResult* const result;
  uint64_t list = 0;  // The list that makes the call; 0: none.
  bool deleted = false;
  bool of_row = false;  // The keys are those of the row: they were checked before.

  const ObjectId id;
  const Status bad;           // Why the observation is refused, whatever the queue has.
  const std::string encoded;  // Its keys.

  storage::SourceId in_flight = 0;  // The source that counts this call as one that goes on.
  bool unseen = false;              // The object was not seen since the list began.
  bool overtakes = false;           // Another call of the object goes on.

  // The row as it was read.
  std::optional<ObjectFacts> read;
  std::optional<ObjectFacts> asked;  // What the index had before,
  int misread = 0;                   // and how often it had that still, and the row was another.
  std::string row_bytes = {};
  storage::ObjectRecord row = {};
  std::vector<std::string_view> row_keys = {};
  // The keys of the observation and of the row, encoded; those of the row, if it cannot have so
  // many.
  std::string joined = {};
  bool same_object = false;  // The object is unchanged, but for its keys.
  bool returns_row = false;  // To the caller, who asks for it: nothing else was done.

  absl::InlinedVector<std::string_view, 4> keys = {};  // To be added, each once,
  size_t own_keys = 0;                                 // of which so many are the observation's,
  std::vector<bool> in_row = {};                       // and which of these the row has, too;
  std::vector<std::string> groups = {};                // and their groups; empty: they have none.
  bool waited = false;                                 // For room.
};

}  // namespace wq
