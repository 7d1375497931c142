// The calls of sources and their lists.
//
// What an observation does is decided under the queue's lock, from the index in memory. If that
// takes the object's row, the lock is released for reading it, and all is decided again under the
// next hold; the row counts if it is the one that the index has then.

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "base/names.h"
#include "engine/queue/queue_impl.h"
#include "storage/queue_records.h"
#include "wq/keys.h"
#include "wq/limiter.h"
#include "wq/source.h"

namespace wq {
namespace {

// How many deleted objects of a list are in memory at a time, or those of about so many bytes.
constexpr size_t kFoundObjects = 256;
constexpr size_t kFoundBytes = size_t{1} << 20;
constexpr size_t kPrefetched = 16;       // Keys of an observation.
constexpr size_t kRemovedAtOnce = 1000;  // Objects of a removed source.
// How often the index has a row that is not found: it may be erased and put again meanwhile. Then
// the object counts as one without keys.
constexpr int kMostMissing = 10;

Status TooLong(const char* what, size_t is, size_t limit) {
  return Status::InvalidArgument(std::string(what) + ": " + std::to_string(is) + ", the limit is " +
                                 std::to_string(limit));
}

Status CheckObservation(const Observation& observation) {
  if (observation.object.empty()) {
    return Status::InvalidArgument("the object is empty");
  }
  size_t key_bytes = 0;
  for (const std::string_view key : observation.keys) {
    key_bytes += key.size();
  }
  const std::pair<const char*, std::pair<size_t, size_t>> bounds[] = {
      {"bytes of an object", {observation.object.size(), kMaxObjectBytes}},
      {"bytes of a version", {observation.version.size(), kMaxVersionBytes}},
      {"bytes of a tombstone", {observation.tombstone.size(), kMaxTombstoneBytes}},
      {"keys of an object", {observation.keys.size(), kMaxObjectKeys}},
      {"bytes of the keys of an object", {key_bytes, kMaxObjectKeysBytes}}};
  for (const auto& [what, sizes] : bounds) {
    if (sizes.first > sizes.second) {
      return TooLong(what, sizes.first, sizes.second);
    }
  }
  return {};
}

// Each key once, in their order: an object whose keys come in another order is the same.
std::string EncodeKeySet(const Observation& observation) {
  if (observation.keys.size() < 2) {
    return storage::EncodeKeys(observation.keys, observation.object);
  }
  std::vector<std::string_view> keys(observation.keys.begin(), observation.keys.end());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return storage::EncodeKeys(keys, observation.object);
}

// Appends the keys that are not there yet.
void AppendNew(std::span<const std::string_view> more, std::vector<std::string_view>* keys) {
  for (const std::string_view key : more) {
    if (std::find(keys->begin(), keys->end(), key) == keys->end()) {
      keys->push_back(key);
    }
  }
}

Status ListIsOver() {
  return Status::InvalidArgument("the list has ended, or a later one has superseded it");
}

}  // namespace

// One observation, or deletion, on its way.
struct Queue::Impl::ObserveCall {
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
  }
  // Of a list, a deletion does nothing if the object was seen since the list began.
  bool OnlyUnseen() const { return deleted && list != 0; }

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

  // The row as it was read.
  std::optional<ObjectFacts> read;
  int missing = 0;  // How often it was not found.
  std::string row_bytes = {};
  storage::ObjectRecord row = {};
  std::vector<std::string_view> row_keys = {};

  std::vector<std::string_view> keys = {};  // To be added, each once,
  size_t own_keys = 0;                      // of which so many are not from the row,
  std::vector<std::string> groups = {};     // and their groups; empty: they have none.
  bool waited = false;                      // For room.
};

// Sets the keys to be added. Calls the user's function, for their groups.
void Queue::Impl::PrepareKeys(ObserveCall* call) const {
  const Observation& seen = call->observation;
  call->keys.clear();
  call->groups.clear();
  if (seen.filtered && !call->deleted) {
    return;
  }
  AppendNew(seen.keys, &call->keys);
  call->own_keys = call->keys.size();
  AppendNew(call->row_keys, &call->keys);
  for (size_t i = 0; i < std::min(call->keys.size(), kPrefetched); ++i) {
    Prefetch(call->keys[i]);
  }
  if (options.group_of != nullptr || call->options.group.has_value()) {
    for (const std::string_view key : call->keys) {
      call->groups.push_back(CheckKey(key).ok() ? GroupOf(key, call->options) : std::string());
    }
  }
}

Status Queue::Impl::ReadRow(storage::SourceId source, ObserveCall* call) const {
  Status s =
      journal->ReadObject(id, source, call->observation.object, &call->row_bytes, &call->row);
  if (s.code() == StatusCode::kNotFound) {
    call->row = {};
    ++call->missing;
  } else if (!s.ok()) {
    return s;
  }
  call->read = ObjectFacts(call->row);
  static_cast<void>(storage::DecodeKeys(call->row.keys, call->observation.object, &call->row_keys));
  return {};
}

// How many keys the call makes pending.
size_t Queue::Impl::NewlyPending(const ObserveCall& call) const {
  if (options.max_pending == 0 || DebounceOf(call.options).quiet.count() > 0) {
    return 0;
  }
  return static_cast<size_t>(
      std::count_if(call.keys.begin(), call.keys.end(), [&](std::string_view key) WQ_UNCHECKED {
        return !LeavesAlone(key, call.options) && state->WouldBePending(key);
      }));
}

Status Queue::Impl::Observe(ObserveCall* call) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  const Durability durability = call->options.durability.value_or(options.durability);
  const GetterQueue::Deadline deadline = RoomDeadline(call->options);
  FullCount full(metrics.get());
  PrepareKeys(call);
  for (;;) {
    const Time now = TimeOfAdd(call->options);
    Effects effects;
    std::optional<storage::SourceId> row_of;
    {
      const MutexLock lock(mu);
      if (Status s = ObserveStep(call, now, &effects, &row_of); !s.ok()) {
        if (s.code() == StatusCode::kFull) {
          full.Count(call->waited ? 0 : 1);
          s = AwaitRoom([&]() WQ_UNCHECKED { return NewlyPending(*call); }, deadline, call->waited);
        }
        if (!s.ok()) {
          WakeAdders().Notify();  // Those behind this call, which leaves its places free.
          return s;
        }
        call->waited = true;
        continue;  // The lock was released meanwhile.
      }
    }
    if (!row_of.has_value()) {
      return EndCall(std::move(effects), durability);
    }
    if (Status s = ReadRow(*row_of, call); !s.ok()) {
      const MutexLock lock(mu);
      WakeAdders().Notify();
      return s;
    }
    PrepareKeys(call);
  }
}

// Returns the source. Its object counts as seen, even if the observation is refused.
Status Queue::Impl::CheckObserve(const ObserveCall& call, TrackedSource** source) const {
  if (shutting_down) {
    return RefuseAdd();
  }
  *source = state->FindSource(call.source);
  if (*source == nullptr) {
    return NoSuch("no source", call.source);
  }
  if (call.list != 0 && call.list != (*source)->open_list && !WQ_MUTANT(superseded_list_goes_on)) {
    return ListIsOver();
  }
  if (!call.deleted) {
    (*source)->See(call.id);
  }
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

// Makes the observation. *row_of: it takes the object's row of this source, and nothing was done.
// Full: there is no room now, and nothing was done.
Status Queue::Impl::ObserveStep(ObserveCall* call, Time now, Effects* effects,
                                std::optional<storage::SourceId>* row_of) {
  const Observation& seen = call->observation;
  TrackedSource* source = nullptr;
  if (Status s = CheckObserve(*call, &source); !s.ok()) {
    return s;
  }
  const ObjectFacts* const facts = source->Find(call->id);
  if (call->OnlyUnseen() && (facts == nullptr || source->Seen(*facts))) {
    *effects = EndTransition(0, Durability::kAsync);
    return {};
  }
  storage::ObjectRecord record{.source = source->id,
                               .object = seen.object,
                               .version = seen.version,
                               .fingerprint = source->fingerprint,
                               .scope = source->scope,
                               .keys = call->encoded,
                               .tombstone = seen.tombstone};
  if (seen.filtered && (facts == nullptr || !facts->IsOf(*source))) {
    record.version = {};  // No Adds of this object were made for this fingerprint.
  }
  const ObjectFacts wanted(record);
  const bool keeps_keys = seen.filtered && seen.keys.empty() && !call->deleted;
  const bool same_keys = facts != nullptr && (keeps_keys || facts->keys == wanted.keys);
  const bool says_something = wanted.version == 0 && !(seen.filtered && seen.tombstone.empty());
  if (!call->deleted && same_keys && facts->version == wanted.version && !says_something) {
    ++source->unchanged;
    *effects =
        EndTransition(source->position, call->options.durability.value_or(options.durability));
    return {};
  }
  const bool needs_row = facts != nullptr && (keeps_keys || (!same_keys && !seen.filtered));
  if (needs_row &&
      !(call->read.has_value() && (call->read->SameRow(*facts) || call->missing == kMostMissing))) {
    *row_of = source->id;
    return {};
  }
  if (!needs_row && call->read.has_value()) {  // Of a row that is not there any more.
    call->read.reset();
    call->row_keys.clear();
    call->keys.resize(call->own_keys);
  }
  if (const size_t needed = NewlyPending(*call); !Fits(needed, call->waited)) {
    return Status::Full("");  // Its words are AwaitRoom's.
  }
  if (keeps_keys && needs_row) {
    record.keys = call->row.keys;
    record.tombstone = seen.tombstone.empty() ? call->row.tombstone : seen.tombstone;
  }
  *effects = ApplyObserved(*call, source, facts != nullptr, record, now);
  return {};
}

// Adds the keys, and writes or erases the row.
Queue::Impl::Effects Queue::Impl::ApplyObserved(const ObserveCall& call, TrackedSource* source,
                                                bool has_row, const storage::ObjectRecord& record,
                                                Time now) {
  if (WQ_MUTANT(row_before_its_adds)) {
    state->PutObject(source, call.id, record);
    const Position early = AppendBatch(0, Durability::kProcess);
    static_cast<void>(journal->Wait(early, Durability::kProcess));
  }
  const Position last = AddObserved(call, now);
  if (!call.deleted) {
    if (!(call.observation.filtered && WQ_MUTANT(filtered_is_not_recorded))) {
      state->PutObject(source, call.id, record);
    }
  } else if (has_row) {
    state->EraseObject(source, call.id, call.observation.object);
    ++source->deleted;
  }
  Effects effects = EndTransition(last, call.options.durability.value_or(options.durability));
  source->position = std::max(source->position, effects.position);
  call.result->changed = !call.deleted || has_row || !call.keys.empty();
  return effects;
}

// Returns the greatest position on which one of the Adds depends.
Position Queue::Impl::AddObserved(const ObserveCall& call, Time now) const {
  Position last = 0;
  for (size_t i = 0; i < call.keys.size(); ++i) {
    const std::string_view group =
        call.groups.empty() ? std::string_view() : std::string_view(call.groups[i]);
    const QueueState::Added added =
        AddOne(call.keys[i], call.options, WantedOf(call.options, group), now);
    last = std::max(last, added.position);
    ObserveResult& result = *call.result;
    const bool held = added.outcome == AddOutcome::kHeld;
    ++(added.outcome == AddOutcome::kAdded ? result.added
       : held                              ? result.held
                                           : result.deduplicated);
  }
  return last;
}

// --- Sources ---

Status Queue::OpenSource(std::string_view name, Source* source) {
  if (Status s = CheckName("source", name); !s.ok()) {
    return s;
  }
  if (impl_->journal == nullptr) {
    return Status::InvalidArgument("queue '" + impl_->name + "' is in memory: it has no sources");
  }
  source->queue_ = impl_.get();
  source->name_ = name;
  return impl_->ChangeSources([&](QueueState& state) {
    if (state.FindSource(name) == nullptr && state.sources().size() >= kMaxSources) {
      return TooLong("sources of a queue", kMaxSources + 1, kMaxSources);
    }
    state.OpenSource(name);
    return Status::Ok();
  });
}

// The record without a name is written first, so a crash leaves nothing that a source could find.
Status Queue::RemoveSource(std::string_view name) {
  std::unique_ptr<TrackedSource> removed;  // Many objects: it is freed without the lock.
  Status s = impl_->ChangeSources([&](QueueState& state) {
    removed = state.RemoveSource(name);
    return removed == nullptr ? NoSuch("no source", name) : Status::Ok();
  });
  if (removed == nullptr || !s.ok()) {
    return s;
  }
  // In pieces, with a wait for each, so that the process log is not filled with them.
  std::vector<std::string> objects;
  const auto erase = [&] {
    return impl_->ChangeSources([&](QueueState& state) {
      for (const std::string& object : objects) {
        state.EraseObject(removed.get(), ObjectId(object), object);
      }
      return Status::Ok();
    });
  };
  do {
    const std::string after = objects.empty() ? "" : objects.back();
    objects.clear();
    s = impl_->journal->ScanObjects(impl_->id, removed->id, after,
                                    [&objects](const storage::ObjectRecord& record) {
                                      objects.emplace_back(record.object);
                                      return objects.size() < kRemovedAtOnce;
                                    });
    if (s.ok() && !objects.empty()) {
      s = erase();
    }
  } while (s.ok() && !objects.empty());
  return !s.ok() ? s : impl_->ChangeSources([&](QueueState& state) {
    state.EraseSource(removed->id);
    return Status::Ok();
  });
}

std::vector<SourceInfo> Queue::Sources() const {
  const MutexLock lock(impl_->mu);
  return impl_->ReadSources();
}

std::vector<SourceInfo> Queue::Impl::ReadSources() const {
  std::vector<SourceInfo> infos;
  for (const auto& [name, source] : state->sources()) {
    infos.push_back({.name = name,
                     .objects = source->objects(),
                     .unchanged = source->unchanged,
                     .changed = source->changed,
                     .deleted = source->deleted});
  }
  return infos;
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

// --- Lists ---

struct SourceList::Impl {
  Queue::Impl* const queue;
  const std::string source;
  const uint64_t list;
  const uint64_t scope;

  storage::SourceId id = 0;
  // The rows behind `after` were not read yet.
  std::string after = {};
  bool read_all = false;
  struct Found {
    DeletedObject object;
    std::string keys;  // Encoded.
    uint64_t scope;
  };
  std::deque<Found> found = {};

  // The source, if the list goes on.
  Status Find(const TrackedSource** of) const WQ_REQUIRES(queue->mu) {
    if (queue->closed) {
      return queue->RefuseAdd();
    }
    *of = queue->state->FindSource(source);
    if (*of == nullptr) {
      return NoSuch("no source", source);
    }
    const bool over = (*of)->open_list != list && !WQ_MUTANT(superseded_list_goes_on);
    return over ? ListIsOver() : Status::Ok();
  }
  // Whether the row's object was not seen since BeginList.
  Status IsUnseen(std::string_view object, bool* unseen) const {
    const MutexLock lock(queue->mu);
    const TrackedSource* of = nullptr;
    if (Status s = Find(&of); !s.ok()) {
      return s;
    }
    const ObjectFacts* const facts = of->Find(ObjectId(object));
    *unseen = facts != nullptr && !of->Seen(*facts);
    return {};
  }
  Status Read();
  // Returns the next row whose object was not seen; NotFound: there is none.
  Status Next(Found* next);
  Status Erase(const Found& gone, const AddOptions& options);
  Status ObserveDeleted(const Observation& gone, const AddOptions& options, ObserveResult* result,
                        bool of_row);
};

Status SourceList::Impl::Read() {
  Status checked;
  size_t bytes = 0;
  std::vector<std::string_view> keys;
  Status read =
      queue->journal->ScanObjects(queue->id, id, after, [&](const storage::ObjectRecord& record) {
        bool unseen = false;
        checked = IsUnseen(record.object, &unseen);
        after = record.object;
        if (!checked.ok() || !unseen) {
          return checked.ok();
        }
        static_cast<void>(storage::DecodeKeys(record.keys, record.object, &keys));
        found.push_back({{.object = std::string(record.object),
                          .version = std::string(record.version),
                          .keys = {keys.begin(), keys.end()},
                          .tombstone = std::string(record.tombstone)},
                         std::string(record.keys),
                         record.scope});
        bytes += record.object.size() + record.keys.size() + record.tombstone.size();
        return found.size() < kFoundObjects && bytes < kFoundBytes;
      });
  read_all = read.ok() && checked.ok() && found.size() < kFoundObjects && bytes < kFoundBytes;
  return read.ok() ? checked : read;
}

Status SourceList::Impl::Next(Found* next) {
  if (Status s = queue->CheckProcess(); !s.ok()) {
    return s;
  }
  for (;;) {
    if (found.empty()) {
      size_t unseen = 0;
      {
        const MutexLock lock(queue->mu);
        const TrackedSource* of = nullptr;
        if (Status s = Find(&of); !s.ok()) {
          return s;
        }
        unseen = of->unseen();
      }
      if (unseen == 0 || read_all) {
        return Status::NotFound("no other object was deleted");
      }
      if (Status s = Read(); !s.ok()) {
        return s;
      }
      continue;
    }
    *next = std::move(found.front());
    found.pop_front();
    bool unseen = false;  // It may have been observed since it was read.
    if (Status s = IsUnseen(next->object.object, &unseen); !s.ok() || unseen) {
      return s;
    }
  }
}

// Its keys are added, unless it is of another scope.
Status SourceList::Impl::Erase(const Found& gone, const AddOptions& options) {
  if (gone.scope != scope && !WQ_MUTANT(deleted_by_another_scope)) {
    return queue->ChangeSources([&](QueueState& state) {
      TrackedSource* const of = state.FindSource(source);
      if (of == nullptr || of->open_list != list) {
        return ListIsOver();
      }
      const ObjectId object(gone.object.object);
      const ObjectFacts* const facts = of->Find(object);
      if (facts != nullptr && !of->Seen(*facts)) {
        state.EraseObject(of, object, gone.object.object);
      }
      return Status::Ok();
    });
  }
  const std::vector<std::string_view> keys(gone.object.keys.begin(), gone.object.keys.end());
  const Observation observation{.object = gone.object.object, .keys = keys};
  return ObserveDeleted(observation, options, nullptr, /*of_row=*/true);
}

Status SourceList::Impl::ObserveDeleted(const Observation& gone, const AddOptions& options,
                                        ObserveResult* result, bool of_row) {
  Queue::Impl::ObserveCall call(source, gone, options, result);
  call.list = list;
  call.deleted = true;
  call.of_row = of_row;
  return queue->Observe(&call);
}

SourceList::SourceList(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}

SourceList::~SourceList() {
  if (WQ_MUTANT(abandoned_list_ends)) {
    static_cast<void>(End());
  }
}

Status Source::BeginList(const ListOptions& options, std::unique_ptr<SourceList>* list) {
  const uint64_t scope = options.scope.empty() ? 0 : StableHash(options.scope);
  const uint64_t fingerprint = options.fingerprint.empty() ? 0 : StableHash(options.fingerprint);
  uint64_t number = 0;
  storage::SourceId id = 0;
  Status s = queue_->ChangeSources([&](QueueState& state) {
    if (state.FindSource(name_) == nullptr) {
      return NoSuch("no source", name_);
    }
    state.BeginList(name_, fingerprint, scope);
    number = state.FindSource(name_)->open_list;
    id = state.FindSource(name_)->id;
    return Status::Ok();
  });
  if (number != 0) {
    list->reset(new SourceList(std::make_unique<SourceList::Impl>(
        SourceList::Impl{.queue = queue_, .source = name_, .list = number, .scope = scope})));
    (*list)->impl_->id = id;
  }
  return s;
}

Status SourceList::Observe(const Observation& observation, const AddOptions& options,
                           ObserveResult* result) {
  Queue::Impl::ObserveCall call(impl_->source, observation, options, result);
  call.list = impl_->list;
  return impl_->queue->Observe(&call);
}

Status SourceList::NextDeleted(DeletedObject* deleted) {
  for (Impl::Found next;;) {
    if (Status s = impl_->Next(&next); !s.ok()) {
      return s;
    }
    if (next.scope == impl_->scope) {
      *deleted = std::move(next.object);
      return {};
    }
  }
}

Status SourceList::ObserveDeleted(std::string_view object, std::span<const std::string_view> keys,
                                  const AddOptions& options, ObserveResult* result) {
  return impl_->ObserveDeleted({.object = object, .keys = keys}, options, result, /*of_row=*/false);
}

Status SourceList::End(const AddOptions& options) {
  // NextDeleted may have passed objects that the caller has not observed as deleted.
  impl_->after.clear();
  impl_->found.clear();
  impl_->read_all = false;
  for (Impl::Found next;;) {
    Status s = impl_->Next(&next);
    if (s.code() == StatusCode::kNotFound) {
      break;
    }
    if (s.ok()) {
      s = impl_->Erase(next, options);
    }
    if (!s.ok()) {
      return s;
    }
  }
  return impl_->queue->ChangeSources([this](QueueState& state) {
    TrackedSource* const of = state.FindSource(impl_->source);
    if (of == nullptr || of->open_list != impl_->list) {
      return ListIsOver();
    }
    of->open_list = 0;
    return Status::Ok();
  });
}

}  // namespace wq
