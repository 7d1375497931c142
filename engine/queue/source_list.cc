// The lists of a source: which objects were not seen since a list began.

#include <deque>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "engine/queue/observe_call.h"
#include "engine/queue/queue_impl.h"
#include "storage/queue_records.h"
#include "wq/source.h"

namespace wq {
namespace {

// How many deleted objects of a list are in memory at a time, or those of about so many bytes.
constexpr size_t kFoundObjects = 256;
constexpr size_t kFoundBytes = size_t{1} << 20;

}  // namespace

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
