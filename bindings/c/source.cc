// The C interface: the sources of a queue, and their lists.

#include "wq/source.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/c/boundary/bytes.h"
#include "bindings/c/boundary/options.h"
#include "bindings/c/queue_call.h"
#include "wq/internal/queue_calls.h"
#include "wq/wq.h"

namespace {

using wq::MutexLock;
using wq::Status;
using wq::c::Call;
using wq::c::CheckInput;
using wq::c::FirstError;
using wq::c::NoneYet;
using wq::c::NotNull;
using wq::c::Pinned;
using wq::c::QueueCall;
using wq::c::QueueObject;
using wq::c::SourceObject;
using wq::c::StoreObject;

// Copies the observation, if its object can be read. *bad: why its other fields are refused.
Status ReadObservation(const wq_observation* in, wq_observation* seen, Status* bad) {
  Status sized = wq::c::ReadSized("observation", in, seen);
  const bool of_later_version = sized.code() == wq::StatusCode::kNotSupported;
  Status read = FirstError({NotNull("observation", in), of_later_version ? Status::Ok() : sized,
                            CheckInput("observation.object", seen->object, seen->object_size)});
  *bad = FirstError(
      {std::move(sized), CheckInput("observation.version", seen->version, seen->version_size),
       CheckInput("observation.tombstone", seen->tombstone, seen->tombstone_size),
       seen->before == nullptr ? Status::Ok()
                               : wq::c::CheckOutput("observation.before", seen->before)});
  return read;
}

// A key list of the row: the object, its version, its tombstone, and its keys. Empty: of none.
Status AssignRow(const char* what, wq::SeenObject row, wq_bytes* list) {
  if (!row.object.empty()) {
    row.keys.insert(row.keys.begin(), {row.object, row.version, row.tombstone});
  }
  return wq::c::AssignKeys(what, row.keys, list);
}

// Observes by a Source or a SourceList.
template <typename Source>
Status Observe(Source& source, const wq_observation& seen,
               const std::vector<std::string_view>& keys, const wq::AddOptions& options,
               wq::ObserveResult* did) {
  const std::string_view object(seen.object, seen.object_size);
  if (seen.deleted != 0) {
    return source.ObserveDeleted(object, keys, options, did);
  }
  wq::SeenObject before;
  Status status = source.Observe({.object = object,
                                  .version = {seen.version, seen.version_size},
                                  .keys = keys,
                                  .tombstone = {seen.tombstone, seen.tombstone_size},
                                  .filtered = seen.filtered != 0,
                                  .before = seen.before == nullptr ? nullptr : &before},
                                 options, did);
  if (seen.before == nullptr) {
    return status;
  }
  return FirstError(
      {std::move(status), AssignRow("observation.before", std::move(before), seen.before)});
}

// Calls `body(list)`, one call of a list at a time. A callback would wait for its own call.
template <typename Body>
wq_code ListCall(wq_source list, const char* name, wq_error* error, const Body& body) noexcept {
  return Call<SourceObject>(list.handle, error, [&](SourceObject& of) -> Status {
    if (Status here = wq::c::NotInCallback(name); !here.ok()) {
      return here;
    }
    if (of.list == nullptr) {
      return Status::InvalidArgument("the source is no list");
    }
    const MutexLock lock(of.mu);
    return body(*of.list);
  });
}

// Retires the handle. Its store is pinned meanwhile, so that it is not freed.
Status Free(uint64_t handle) {
  if (Status here = wq::c::NotInCallback("wq_source_free"); !here.ok()) {
    return here;
  }
  uint64_t store_handle = 0;
  if (const Pinned<SourceObject> source(handle); source.get() != nullptr) {
    store_handle = source.get()->store->handle;
  }
  const Pinned<StoreObject> store(store_handle);
  if (store.get() == nullptr || wq::c::RetireAndWait<SourceObject>(handle) == nullptr) {
    return wq::c::BadHandle(SourceObject::kKind, handle);
  }
  store.get()->sources.Erase(handle);
  return {};
}

}  // namespace

extern "C" {

wq_code wq_queue_open_source(wq_queue queue, const char* name, wq_source* source, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) -> Status {
    if (Status s = FirstError({NoneYet("source", source), NotNull("name", name)}); !s.ok()) {
      return s;
    }
    auto object = std::make_unique<SourceObject>();
    object->store = q.store;
    if (Status s = q.queue->OpenSource(name, &object->source); !s.ok()) {
      return s;
    }
    source->handle = q.store->sources.Insert(object);
    return {};
  });
}

wq_code wq_source_free(wq_source source, wq_error* error) {
  return wq::c::Enter(error, [source] { return Free(source.handle); });
}

wq_code wq_queue_remove_source(wq_queue queue, const char* name, wq_error* error) {
  return QueueCall(queue, error, [name](wq::Queue& q) {
    Status s = NotNull("name", name);
    return s.ok() ? q.RemoveSource(name) : s;
  });
}

wq_code wq_source_observe(wq_source source, const wq_observation* observation,
                          const wq_add_options* options, wq_observe_result* result,
                          wq_error* error) {
  return Call<SourceObject>(source.handle, error, [&](SourceObject& of) -> Status {
    wq_observation seen;
    Status bad;
    if (Status s = ReadObservation(observation, &seen, &bad); !s.ok()) {
      return s;
    }
    std::vector<std::string_view> keys;
    wq::c::CallOptions call;
    bad = FirstError({std::move(bad),
                      result == nullptr ? Status::Ok() : wq::c::CheckSized("result", result),
                      wq::c::ReadKeys("observation.keys", seen.keys, seen.keys_size, &keys),
                      wq::c::ToAddOptions(options, &call)});
    if (!bad.ok()) {  // The object counts as seen: an observation without a key is refused.
      seen.version_size = seen.tombstone_size = 0;
      seen.before = nullptr;
      keys.assign(1, {});
      call.options = {};
    }
    wq::ObserveResult did;
    Status status;
    if (of.list == nullptr) {
      status = Observe(of.source, seen, keys, call.options, &did);
    } else if (Status here = wq::c::NotInCallback("wq_source_observe of a list"); !here.ok()) {
      return here;
    } else {
      const MutexLock lock(of.mu);
      status = Observe(*of.list, seen, keys, call.options, &did);
    }
    if (!bad.ok()) {
      return bad;
    }
    if (result != nullptr && IsApplied(status)) {
      wq::c::WriteSized(wq_observe_result{.size = 0,
                                          .changed = did.changed ? 1 : 0,
                                          .added = did.added,
                                          .deduplicated = did.deduplicated,
                                          .held = did.held},
                        result);
    }
    return status;
  });
}

wq_code wq_source_begin_list(wq_source source, const wq_list_options* options, wq_source* list,
                             wq_error* error) {
  return Call<SourceObject>(source.handle, error, [&](SourceObject& of) -> Status {
    wq_list_options all;
    if (Status s =
            FirstError({NoneYet("list", list), wq::c::ReadSized("options", options, &all),
                        CheckInput("options.scope", all.scope, all.scope_size),
                        CheckInput("options.fingerprint", all.fingerprint, all.fingerprint_size)});
        !s.ok()) {
      return s;
    }
    // wq_store_free waits for it, and finds the list among those that it frees.
    const Pinned<StoreObject> store(of.store->handle);
    if (store.get() == nullptr) {
      return wq::c::BadHandle(SourceObject::kKind, source.handle);
    }
    auto object = std::make_unique<SourceObject>();
    object->store = of.store;
    object->source = of.source;
    const wq::ListOptions list_options{.scope = {all.scope, all.scope_size},
                                       .fingerprint = {all.fingerprint, all.fingerprint_size}};
    if (Status s = object->source.BeginList(list_options, &object->list); !s.ok()) {
      return s;
    }
    list->handle = of.store->sources.Insert(object);
    return {};
  });
}

wq_code wq_source_next_deleted(wq_source list, wq_bytes* row, wq_error* error) {
  return ListCall(list, "wq_source_next_deleted", error, [row](wq::SourceList& of) -> Status {
    if (Status s = wq::c::CheckOutput("row", row); !s.ok()) {
      return s;
    }
    wq::SeenObject deleted;
    if (Status s = of.NextDeleted(&deleted); !s.ok()) {
      return s;
    }
    return AssignRow("row", std::move(deleted), row);
  });
}

wq_code wq_source_end_list(wq_source list, const wq_add_options* options, wq_error* error) {
  return ListCall(list, "wq_source_end_list", error, [options](wq::SourceList& of) {
    wq::c::CallOptions call;
    Status s = wq::c::ToAddOptions(options, &call);
    return s.ok() ? of.End(call.options) : s;
  });
}

wq_code wq_queue_sources(wq_queue queue, wq_visit_source visit, void* arg, wq_error* error) {
  return QueueCall(queue, error, [&](const wq::Queue& q) -> Status {
    return wq::c::VisitAll(visit, q.Sources(), [&](const wq::SourceInfo& source) {
      const wq_source_info shown{.name = source.name.c_str(),
                                 .objects = source.objects,
                                 .unchanged = source.unchanged,
                                 .changed = source.changed,
                                 .deleted = source.deleted};
      return visit(arg, &shown);
    });
  });
}

}  // extern "C"
