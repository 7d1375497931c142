// The C interface: stores.

#include "wq/store.h"

#include <optional>
#include <string>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/bytes.h"
#include "bindings/c/boundary/objects.h"
#include "bindings/c/boundary/options.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::Call;
using wq::c::Enter;
using wq::c::FirstError;
using wq::c::NoneYet;
using wq::c::NotInCallback;
using wq::c::NotNull;
using wq::c::QueueObject;
using wq::c::Registry;
using wq::c::SourceObject;
using wq::c::StoreObject;
using wq::c::WorkerObject;

// Opens a store by `open(options, &store)`.
template <typename Open>
Status OpenStore(const wq_store_options* options, wq_store* store, const Open& open) {
  auto object = std::make_unique<StoreObject>();
  wq::StoreOptions store_options;
  if (Status s = FirstError(
          {NoneYet("store", store),
           wq::c::ToStoreOptions(options, &store_options, &object->metrics, &object->clock)});
      !s.ok()) {
    return s;
  }
  wq::c::WatchForks();
  if (Status s = open(store_options, &object->store); !s.ok()) {
    return s;
  }
  StoreObject* const opened = object.get();
  opened->handle = wq::c::Register(object);
  store->handle = opened->handle;
  return {};
}

// Retires these handles and returns their objects, which no thread uses any more.
template <typename T>
std::vector<std::unique_ptr<T>> RetireAll(const wq::c::HandleList& handles) {
  std::vector<std::unique_ptr<T>> objects;
  for (const uint64_t handle : handles.All()) {
    objects.push_back(wq::c::RetireAndWait<T>(handle));
  }
  return objects;
}

// REQUIRES: retired.
Status EndStore(uint64_t handle, StoreObject* object) {
  Registry& registry = Registry::Instance();
  const std::unique_ptr<StoreObject> owned(object);
  // Blocked calls return, and running calls end. After that no queue can be opened. After the
  // queues are retired no worker can join.
  Status status = object->store->Close();
  registry.WaitUnpinned(handle);
  registry.Release(handle);
  auto queues = RetireAll<QueueObject>(object->queues);
  RetireAll<WorkerObject>(object->workers).clear();
  RetireAll<SourceObject>(object->sources).clear();
  queues.clear();  // They listen to the store.
  object->store.reset();
  return status;
}

}  // namespace

extern "C" {

wq_code wq_store_open(const char* dir, const wq_store_options* options, wq_store* store,
                      wq_error* error) {
  return Enter(error, [&]() -> Status {
    if (Status s = NotNull("dir", dir); !s.ok()) {
      return s;
    }
    return OpenStore(options, store, [dir](const wq::StoreOptions& o, auto* opened) {
      return wq::Store::Open(o, dir, opened);
    });
  });
}

wq_code wq_store_open_in_memory(const wq_store_options* options, wq_store* store, wq_error* error) {
  return Enter(error, [&] {
    return OpenStore(options, store, [](const wq::StoreOptions& o, auto* opened) {
      return wq::Store::OpenInMemory(o, opened);
    });
  });
}

wq_code wq_store_close(wq_store store, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [](StoreObject& s) {
    Status here = NotInCallback("wq_store_close");
    return here.ok() ? s.store->Close() : here;
  });
}

wq_code wq_store_free(wq_store store, wq_error* error) {
  return Enter(error, [store]() -> Status {
    if (Status s = NotInCallback("wq_store_free"); !s.ok()) {
      return s;
    }
    auto* const object =
        static_cast<StoreObject*>(Registry::Instance().Retire(StoreObject::kKind, store.handle));
    return object == nullptr ? wq::c::BadHandle(StoreObject::kKind, store.handle)
                             : EndStore(store.handle, object);
  });
}

wq_code wq_store_open_queue(wq_store store, const char* name, const wq_queue_options* options,
                            wq_queue* queue, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [&](StoreObject& s) -> Status {
    auto object = std::make_unique<QueueObject>();
    wq::QueueOptions queue_options;
    if (Status bad = FirstError({NoneYet("queue", queue), NotNull("name", name),
                                 NotInCallback("wq_store_open_queue"),
                                 wq::c::ToQueueOptions(options, &queue_options)});
        !bad.ok()) {
      return bad;
    }
    if (Status failed = s.store->OpenQueue(name, queue_options, &object->queue); !failed.ok()) {
      return failed;
    }
    object->store = &s;
    object->max_key_bytes = queue_options.max_key_bytes;
    queue->handle = s.queues.Insert(object);
    return {};
  });
}

wq_code wq_queue_close(wq_queue queue, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [](QueueObject& q) {
    Status s = NotInCallback("wq_queue_close");
    if (s.ok()) {
      s = q.store->store->CloseQueue(q.queue);
    }
    if (s.ok() || s.code() == wq::StatusCode::kNotOwner) {  // Closed when the ownership ended.
      q.readiness.Close();
    }
    return s;
  });
}

wq_code wq_store_delete_queue(wq_store store, const char* name, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [&](StoreObject& s) {
    Status bad = FirstError({NotNull("name", name), NotInCallback("wq_store_delete_queue")});
    return bad.ok() ? s.store->DeleteQueue(name) : bad;
  });
}

wq_code wq_store_flush(wq_store store, int32_t durability, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [&](StoreObject& s) {
    std::optional<wq::Durability> wanted;
    Status bad = wq::c::ToDurability(durability, &wanted);
    return bad.ok() ? s.store->Flush(wanted.value_or(wq::Durability::kPower)) : bad;
  });
}

wq_code wq_store_health(wq_store store, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [](StoreObject& s) { return s.store->Health(); });
}

wq_code wq_store_process_log_status(wq_store store, wq_error* error) {
  return Call<StoreObject>(store.handle, error,
                           [](StoreObject& s) { return s.store->ProcessLogStatus(); });
}

wq_code wq_store_recover(wq_store store, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [](StoreObject& s) {
    Status here = NotInCallback("wq_store_recover");
    return here.ok() ? s.store->Recover() : here;
  });
}

wq_code wq_store_clock_changed(wq_store store, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [](StoreObject& s) -> Status {
    if (s.clock == nullptr) {
      return Status::InvalidArgument("the store was opened without a clock");
    }
    s.clock->Changed();
    return {};
  });
}

wq_code wq_store_queue_names(wq_store store, wq_bytes* names, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [&](StoreObject& s) {
    return wq::c::AssignKeys("names", s.store->QueueNames(), names);
  });
}

wq_code wq_store_uuid(wq_store store, wq_bytes* uuid, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [&](StoreObject& s) {
    return wq::c::AssignChecked("uuid", s.store->uuid(), uuid);
  });
}

wq_code wq_store_dir(wq_store store, wq_bytes* dir, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [&](StoreObject& s) {
    return wq::c::AssignChecked("dir", s.store->dir(), dir);
  });
}

wq_code wq_store_metrics(wq_store store, wq_bytes* text, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [&](StoreObject& s) -> Status {
    return s.metrics == nullptr ? Status::InvalidArgument("the store was opened without metrics")
                                : wq::c::AssignChecked("text", s.metrics->Text(), text);
  });
}

}  // extern "C"
