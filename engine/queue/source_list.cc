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

constexpr size_t kFoundObjects = 64;  // Deleted ones of a list, in memory at a time.

}  // namespace

Status Queue::Impl::FindList(std::string_view source, uint64_t list, TrackedSource** of) const {
  *of = state->FindSource(source);
  if (*of == nullptr) {
    return Status::InvalidArgument("the list's source '" + std::string(source) + "' was removed");
  }
  if (list != (*of)->open_list && !WQ_MUTANT(superseded_list_goes_on)) {
    return Status::InvalidArgument("the list has ended, or a later one has superseded it");
  }
  return {};
}

struct SourceList::Impl {
  Queue::Impl* const queue;
  const std::string source;
  const uint64_t list;
  const uint64_t scope;
  const storage::SourceId id;

  // The rows behind `after` were not read yet.
  std::string after = {};
  bool read_all = false;
  struct Found {
    SeenObject object;
    uint64_t scope;
  };
  std::deque<Found> found = {};
  Position position = 0;  // Of the source's last change, as IsUnseen has found it.

  // The source, if the list goes on.
  Status Find(TrackedSource** of) const WQ_REQUIRES(queue->mu) {
    return queue->closed ? queue->RefuseAdd() : queue->FindList(source, list, of);
  }
  // Whether the object, or any if it is empty, was not seen since BeginList.
  Status IsUnseen(std::string_view object, bool* unseen) {
    const MutexLock lock(queue->mu);
    TrackedSource* of = nullptr;
    if (Status s = Find(&of); !s.ok()) {
      return s;
    }
    *unseen = object.empty() ? of->unseen() > 0 : of->Unseen(ObjectId(object));
    position = of->position;
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
  std::vector<std::string_view> keys;
  Status read = storage::ScanObjects(
      Journal::Rows(queue->journal), queue->id, id, after,
      [&](const storage::ObjectRecord& record) {
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
                         record.scope});
        return found.size() < kFoundObjects;
      });
  read_all = read.ok() && checked.ok() && found.size() < kFoundObjects;
  return read.ok() ? checked : read;
}

Status SourceList::Impl::Next(Found* next) {
  if (Status s = queue->CheckProcess(); !s.ok()) {
    return s;
  }
  for (;;) {
    if (found.empty()) {
      bool any = false;
      if (Status s = IsUnseen({}, &any); !s.ok()) {
        return s;
      }
      if (!any || read_all) {
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
    const auto erase = [&](QueueState& state) WQ_UNCHECKED {
      TrackedSource* of = nullptr;
      Status s = queue->FindList(source, list, &of);
      const ObjectId object(gone.object.object);
      if (s.ok() && of->Unseen(object)) {
        state.EraseObject(of, object, gone.object.object);
      }
      return s;
    };
    return queue->ChangeSources(
        erase, Durability::kAsync);  // The next list drops what a crash brings back.
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
  std::unique_ptr<SourceList::Impl> begun;
  Status s = queue_->ChangeSources([&](QueueState& state) {
    const TrackedSource* const source = state.BeginList(name_, fingerprint, scope);
    if (source == nullptr) {
      return NoSuch("no source", name_);
    }
    begun = std::make_unique<SourceList::Impl>(SourceList::Impl{.queue = queue_,
                                                                .source = name_,
                                                                .list = source->open_list,
                                                                .scope = scope,
                                                                .id = source->id});
    return Status::Ok();
  });
  if (begun != nullptr) {
    list->reset(new SourceList(std::move(begun)));
  }
  return s;
}

Status SourceList::Observe(const Observation& observation, const AddOptions& options,
                           ObserveResult* result) {
  Queue::Impl::ObserveCall call(impl_->source, observation, options, result);
  call.list = impl_->list;
  return impl_->queue->Observe(&call);
}

Status SourceList::NextDeleted(SeenObject* deleted) {
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
  // A deletion before may have returned NotDurable.
  const Durability durability = impl_->queue->DurabilityOf(options);
  if (Status s = impl_->queue->journal->Wait(impl_->position, durability); !s.ok()) {
    return s;
  }
  return impl_->queue->ChangeSources([this](const QueueState&) WQ_UNCHECKED {
    TrackedSource* of = nullptr;
    Status s = impl_->queue->FindList(impl_->source, impl_->list, &of);
    if (s.ok()) {
      of->open_list = 0;
    }
    return s;
  });
}

}  // namespace wq
