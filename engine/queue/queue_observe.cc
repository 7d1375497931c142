// Observations of a source's objects.
//
// What an observation does is decided under the queue's lock, from the index in memory. If that
// takes the object's row, the lock is released for reading it, and all is decided again under the
// next hold; the row counts if it is the one that the index has then.

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "engine/queue/observe_call.h"
#include "engine/queue/queue_impl.h"
#include "storage/queue_records.h"
#include "wq/source.h"

namespace wq {

// Sets the keys to be added. Calls the user's function, for their groups.
void Queue::Impl::PrepareKeys(ObserveCall* call) const {
  const Observation& seen = call->observation;
  call->keys.clear();
  call->groups.clear();
  if (seen.filtered || !call->bad.ok()) {
    return;
  }
  call->AppendKeys(seen.keys);
  call->own_keys = call->keys.size();
  call->in_row.clear();
  if (!call->row_keys.empty() && !call->deleted) {
    const absl::flat_hash_set<std::string_view> row(call->row_keys.begin(), call->row_keys.end());
    for (const std::string_view key : call->keys) {
      call->in_row.push_back(row.contains(key));
    }
  }
  call->AppendKeys(call->row_keys);
  for (size_t i = 0; i < std::min(call->keys.size(), ObserveCall::kFew); ++i) {
    Prefetch(call->keys[i]);
  }
  if (options.group_of != nullptr || call->options.group.has_value()) {
    for (const std::string_view key : call->keys) {
      call->groups.push_back(GroupOf(key, call->options));
    }
  }
}

Status Queue::Impl::ReadRow(storage::SourceId source, ObserveCall* call) const {
  Status s = storage::GetObject(Journal::Rows(journal), id, source, call->observation.object,
                                &call->row_bytes, &call->row);
  if (s.code() == StatusCode::kNotFound) {
    call->row = {};
  } else if (!s.ok()) {
    return s;
  }
  call->read = ObjectFacts(call->row);
  static_cast<void>(storage::DecodeKeys(call->row.keys, call->observation.object, &call->row_keys));
  if (call->observation.filtered) {
    call->JoinKeys();
  }
  return {};
}

// How many keys the call makes pending.
size_t Queue::Impl::NewlyPending(const ObserveCall& call) const {
  size_t count = 0;
  for (size_t i = 0; i < call.keys.size() && options.max_pending > 0; ++i) {
    count += call.LeavesKey(i) ? 0 : PlacesFor(call.keys[i], call.options);
  }
  return count;
}

Status Queue::Impl::Observe(ObserveCall* call) {
  if (Status s = CheckProcess(); !s.ok()) {
    if (s.code() == StatusCode::kNotOwner) {  // The ownership may go on.
      const MutexLock lock(mu);
      TrackedObject object{nullptr, call->id, nullptr};
      static_cast<void>(FindObserved(call, &object));
      GiveUp(call);
    }
    return s;
  }
  const Durability durability = DurabilityOf(call->options);
  const GetterQueue::Deadline deadline = RoomDeadline(call->options);
  FullCount full(metrics.get());
  PrepareKeys(call);
  for (;;) {
    const Time now = TimeOfAdd(call->options);
    Effects effects;
    std::optional<storage::SourceId> row_of;
    {
      const MutexLock lock(mu);
      Status s = ObserveStep(call, now, &effects, &row_of);
      const bool is_full = s.code() == StatusCode::kFull;
      if (is_full || row_of.has_value()) {
        Enter(call);  // The lock is released meanwhile.
      }
      if (is_full) {
        full.Count(call->waited ? 0 : 1);
        s = AwaitRoom([&]() WQ_UNCHECKED { return NewlyPending(*call); }, deadline, call->waited);
      }
      if (!s.ok() || call->returns_row) {
        GiveUp(call);
      }
      if (!s.ok()) {
        return s;
      }
      if (is_full) {
        call->waited = true;
        continue;
      }
      if (!row_of.has_value()) {
        Leave(call);
      }
    }
    if (call->returns_row) {
      call->ReturnRow();
      return {};
    }
    if (!row_of.has_value()) {
      return EndCall(std::move(effects), durability);
    }
    if (Status s = ReadRow(*row_of, call); !s.ok()) {
      const MutexLock lock(mu);
      GiveUp(call);
      return s;
    }
    PrepareKeys(call);
  }
}

void Queue::Impl::Enter(ObserveCall* call) const {
  TrackedSource* const source = state->FindSource(call->source);
  if (call->in_flight == 0 && source != nullptr && call->MayBeChange()) {
    call->in_flight = source->id;
    source->Enter(call->id);
  }
}

void Queue::Impl::Leave(ObserveCall* call) const {
  const storage::SourceId entered = std::exchange(call->in_flight, 0);
  TrackedSource* const source = state->FindSource(call->source);
  if (entered != 0 && source != nullptr && source->id == entered) {
    source->Leave(call->id);
  }
}

// The observation is not made. What is observed next may be filtered: a list must not pass it over.
void Queue::Impl::GiveUp(ObserveCall* call) {
  Leave(call);
  WakeAdders().Notify();  // Those behind this call, which leaves its places free.
  TrackedSource* const source = state->FindSource(call->source);
  if (source == nullptr || !call->MayBeChange()) {
    return;
  }
  ObjectFacts* const facts = source->Find(call->id);
  if (facts != nullptr && !(call->OnlyUnseen() && source->Seen(*facts))) {
    facts->Owe();
  }
}

Status Queue::Impl::FindSource(const ObserveCall& call, TrackedSource** source) const {
  if (shutting_down) {
    return RefuseAdd();
  }
  if (call.list != 0) {
    return FindList(call.source, call.list, source);
  }
  *source = state->FindSource(call.source);
  return *source == nullptr ? NoSuch("no source", call.source) : Status::Ok();
}

Status Queue::Impl::CheckObserve(const ObserveCall& call) const {
  if (!call.bad.ok()) {
    return call.bad;
  }
  if (Status s = CheckAdd(call.options); !s.ok()) {
    return s;
  }
  for (const std::string_view key : call.observation.keys) {
    if (Status s = CheckKey(key); !s.ok() && !call.of_row && !state->IsProcessing(key)) {
      return s;
    }
  }
  return {};
}

// The object counts as seen, even if the observation is refused.
Status Queue::Impl::FindObserved(ObserveCall* call, TrackedObject* object) const {
  if (Status s = FindSource(*call, &object->source); !s.ok()) {
    return s;
  }
  object->source->Prefetch(call->id);
  Status checked = CheckObserve(*call);
  object->facts = object->source->Find(call->id);
  call->overtakes = object->source->InFlight(call->id) > (call->in_flight != 0 ? 1 : 0);
  if (object->facts != nullptr && !call->deleted) {
    call->unseen = call->unseen || !object->source->Seen(*object->facts);
    object->source->See(object->facts);
  }
  return checked;
}

// Makes the observation. *row_of: it takes the object's row of this source, and nothing was done.
// Full: there is no room now, and nothing was done.
Status Queue::Impl::ObserveStep(ObserveCall* call, Time now, Effects* effects,
                                std::optional<storage::SourceId>* row_of) {
  const Observation& seen = call->observation;
  TrackedObject object{nullptr, call->id, nullptr};
  if (Status s = FindObserved(call, &object); !s.ok()) {
    return s;
  }
  TrackedSource* const source = object.source;
  const ObjectFacts* const facts = object.facts;
  const Durability durability = DurabilityOf(call->options);
  if (call->OnlyUnseen() && (facts == nullptr || source->Seen(*facts))) {
    *effects = EndTransition(source->position, durability);
    return {};
  }
  if (facts != nullptr) {
    call->CompareRead(*facts);
  }
  bool needs_row = false;
  const storage::ObjectRecord record = call->RecordOf(object, &needs_row);
  const ObjectFacts wanted(record);
  const bool filtered = seen.filtered;
  const bool same_keys =
      facts != nullptr && ((filtered && seen.keys.empty()) || facts->SameKeys(wanted));
  // A filtered observation without a tombstone keeps that of a row without a version.
  const bool keeps_tombstone = filtered && seen.tombstone.empty() && !wanted.HasVersion();
  const bool same_version =
      facts != nullptr && (filtered || !facts->Owed()) &&
      (facts->version == wanted.version || (keeps_tombstone && facts->SameScope(wanted)));
  const bool says_something = !wanted.HasVersion() && !filtered;
  call->same_object = same_version && wanted.HasVersion();
  if (!call->deleted && same_keys && same_version && !says_something) {
    ++source->unchanged;
    *effects = EndTransition(source->position, durability);
    return {};
  }
  const bool asks_row = seen.before != nullptr && facts != nullptr && !same_version;
  needs_row = needs_row || asks_row || (facts != nullptr && !same_keys && !filtered);
  if (needs_row && !call->HasRead(*facts)) {
    call->asked = *facts;
    *row_of = source->id;
    return {};
  }
  if (!needs_row) {
    call->ForgetRow();
  }
  call->returns_row = asks_row && call->IsAnotherRow();
  if (call->returns_row) {
    return {};
  }
  if (const size_t needed = NewlyPending(*call); !Fits(needed, call->waited)) {
    return Status::Full("");  // Its words are AwaitRoom's.
  }
  *effects = ApplyObserved(*call, object, record, wanted, now);
  return {};
}

// Adds the keys, and writes or erases the row.
Queue::Impl::Effects Queue::Impl::ApplyObserved(const ObserveCall& call, TrackedObject object,
                                                const storage::ObjectRecord& record,
                                                const ObjectFacts& facts, Time now) {
  const bool was_there = object.facts != nullptr;
  if (WQ_MUTANT(row_before_its_adds)) {
    state->PutObject(object, record, facts);
    object.facts = object.source->Find(call.id);
    const Position early = AppendBatch(0, Durability::kProcess);
    static_cast<void>(journal->Wait(early, Durability::kProcess));
  }
  const Position last = AddObserved(call, now);
  if (!call.deleted) {
    if (!(call.observation.filtered && WQ_MUTANT(filtered_is_not_recorded))) {
      state->PutObject(object, record, facts);
    }
  } else if (was_there) {
    state->EraseObject(object.source, call.id, call.observation.object);
    ++object.source->deleted;
  }
  Effects effects =
      EndTransition(std::max(last, object.source->position), DurabilityOf(call.options));
  object.source->position = std::max(object.source->position, effects.position);
  call.result->changed = !call.deleted || was_there || !call.keys.empty();
  return effects;
}

// Returns the greatest position on which one of the Adds depends.
Position Queue::Impl::AddObserved(const ObserveCall& call, Time now) const {
  Position last = 0;
  for (size_t i = 0; i < call.keys.size(); ++i) {
    if (call.LeavesKey(i)) {
      continue;
    }
    const std::string_view group =
        call.groups.empty() ? std::string_view() : std::string_view(call.groups[i]);
    const QueueState::Added added =
        AddOne(call.keys[i], call.options, WantedOf(call.options, group), now);
    last = std::max(last, added.position);
    CountOutcome(added.outcome, call.result);
  }
  return last;
}

Status Source::Observe(const Observation& observation, const AddOptions& options,
                       ObserveResult* result) {
  Queue::Impl::ObserveCall call(name_, observation, options, result);
  return queue_->Observe(&call);
}

Status Source::ObserveDeleted(std::string_view object, std::span<const std::string_view> keys,
                              const AddOptions& options, ObserveResult* result) {
  const Observation observation{.object = object, .keys = keys};
  Queue::Impl::ObserveCall call(name_, observation, options, result);
  call.deleted = true;
  return queue_->Observe(&call);
}

}  // namespace wq
