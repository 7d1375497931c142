// The C interface: Get and Done, for queues and for the workers of shards.

#include <algorithm>
#include <new>

#include "base/mutant.h"
#include "bindings/c/boundary/bytes.h"
#include "bindings/c/boundary/options.h"
#include "bindings/c/queue_call.h"
#include "wq/internal/queue_calls.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::StatusCode;
using wq::c::Call;
using wq::c::KeyCall;
using wq::c::kKeyHeader;
using wq::c::Pinned;
using wq::c::QueueCall;
using wq::c::QueueObject;
using wq::c::StoreObject;
using wq::c::WorkerObject;

// Takes a key by `get(timeout, key, lane)`. If timeout_us is 0 and there is no key, a notification
// has been requested when this returns.
template <typename Get>
Status Take(QueueObject& queue, int64_t timeout_us, std::string* key, wq::Lane* lane,
            const Get& get) {
  Status status = get(wq::c::ToTimeout(timeout_us), key, lane);
  if (timeout_us == 0 && status.code() == StatusCode::kTimedOut) {
    queue.readiness.Request();
    // For keys that were added before the request.
    status = get(std::chrono::microseconds(0), key, lane);
  }
  return status;
}

template <typename Get>
Status TakeOne(QueueObject& queue, int64_t timeout_us, wq_bytes* key, const Get& get) {
  if (Status s = wq::c::CheckOutput("key", key); !s.ok()) {
    return s;
  }
  wq::c::Reserve(queue.max_key_bytes, key);  // Nothing may fail after a key was taken.
  std::string taken;
  if (Status s = Take(queue, timeout_us, &taken, nullptr, get); !s.ok()) {
    return s;
  }
  wq::c::Assign(taken, key);
  return {};
}

// Retires the worker's handle, which is not pinned. Its store is, so that it is not freed.
Status Leave(uint64_t handle) {
  uint64_t store_handle = 0;
  {
    const Pinned<WorkerObject> worker(handle);
    if (worker.get() == nullptr) {
      return wq::c::BadHandle(WorkerObject::kKind, handle);
    }
    store_handle = worker.get()->store->handle;
  }
  const Pinned<StoreObject> store(store_handle);
  bool busy = false;
  wq::c::Registry& registry = wq::c::Registry::Instance();
  const std::unique_ptr<WorkerObject> worker(
      store.get() == nullptr
          ? nullptr
          : static_cast<WorkerObject*>(registry.RetireIdle(WorkerObject::kKind, handle, &busy)));
  if (worker == nullptr) {
    return busy ? Status::InvalidArgument("a call of the worker is under way")
                : wq::c::BadHandle(WorkerObject::kKind, handle);
  }
  store.get()->workers.Erase(handle);
  registry.Release(handle);
  return {};
}

bool MakeRoom(size_t capacity, wq_bytes* list) {
  try {
    wq::c::Reserve(capacity, list);
    return true;
  } catch (const std::bad_alloc&) {
    return false;  // The call returns the keys that were taken.
  }
}

// `lanes` is nullptr, or receives the lane of each key.
template <typename Get>
Status TakeBatch(QueueObject& queue, size_t max_keys, int64_t timeout_us, wq_bytes* list,
                 int32_t* lanes, size_t* count, const Get& get) {
  if (Status s = wq::c::CheckOutput("list", list); !s.ok()) {
    return s;
  }
  if (max_keys == 0) {
    return Status::InvalidArgument("max_keys is 0");
  }
  wq::c::Reserve(kKeyHeader + queue.max_key_bytes, list);
  std::string key;
  wq::Lane lane = wq::kFastLane;
  if (Status s = Take(queue, timeout_us, &key, &lane, get); !s.ok()) {
    return s;
  }
  wq::c::Assign({}, list);
  size_t taken = 0;
  for (Status status; status.ok(); status = get(std::chrono::microseconds(0), &key, &lane)) {
    wq::c::AppendKey(key, list);
    if (lanes != nullptr) {
      lanes[taken] = lane;
    }
    if (++taken == max_keys || !MakeRoom(list->size + kKeyHeader + queue.max_key_bytes, list)) {
      break;
    }
  }
  if (count != nullptr) {
    *count = taken;
  }
  return {};
}

auto GetOf(wq::Queue& queue) {
  return [&queue](std::chrono::microseconds timeout, std::string* key, wq::Lane* lane) {
    return queue.GetFor(timeout, key, lane);
  };
}
auto GetOf(wq::Worker& worker) {
  return [&worker](std::chrono::microseconds timeout, std::string* key, wq::Lane* lane) {
    return worker.GetFor(timeout, key, lane);
  };
}

}  // namespace

extern "C" {

wq_code wq_queue_get(wq_queue queue, int64_t timeout_us, wq_bytes* key, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) {
    return TakeOne(q, timeout_us, key, GetOf(*q.queue));
  });
}

wq_code wq_queue_get_batch(wq_queue queue, size_t max_keys, int64_t timeout_us, wq_bytes* list,
                           int32_t* lanes, size_t* count, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) {
    return TakeBatch(q, max_keys, timeout_us, list, lanes, count, GetOf(*q.queue));
  });
}

wq_code wq_queue_done(wq_queue queue, const char* key, size_t key_size, wq_error* error) {
  return KeyCall(queue, key, key_size, error, &wq::Queue::Done);
}

wq_code wq_queue_done_batch(wq_queue queue, const char* list, size_t list_size,
                            size_t* not_processing, wq_error* error) {
  return QueueCall(queue, error, [&](wq::Queue& q) -> Status {
    std::vector<std::string_view> keys;
    if (Status s = wq::c::ReadKeys("list", list, list_size, &keys); !s.ok()) {
      return s;
    }
    Status first;  // Of the keys that are not processing.
    size_t refused = 0;
    Status status;
    for (const std::string_view key : keys) {
      status = q.Done(key);
      if (status.code() == StatusCode::kNotProcessing && !WQ_MUTANT(done_batch_stops)) {
        first = refused++ == 0 ? std::move(status) : std::move(first);
        status = {};
      } else if (!IsApplied(status)) {
        break;
      }
    }
    if (not_processing != nullptr) {
      *not_processing = refused;
    }
    return status.ok() ? first : status;
  });
}

wq_code wq_queue_added_again(wq_queue queue, const char* key, size_t key_size, int32_t* again,
                             wq_error* error) {
  return KeyCall(queue, key, key_size, error, [&](const wq::Queue& q, std::string_view k) {
    return wq::c::Output("again", q.AddedAgain(k), again);
  });
}

wq_code wq_queue_ready_fd(wq_queue queue, int* fd, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) {
    return fd == nullptr ? wq::c::NullArgument("fd") : q.readiness.NewDescriptor(q.queue, fd);
  });
}

// --- Shards ---

wq_code wq_queue_join(wq_queue queue, wq_worker* worker, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) -> Status {
    if (Status s = wq::c::NoneYet("worker", worker); !s.ok()) {
      return s;
    }
    auto object = std::make_unique<WorkerObject>();
    object->store = q.store;
    object->queue = &q;
    if (Status s = q.queue->Join(&object->worker); !s.ok()) {
      return s;
    }
    worker->handle = q.store->workers.Insert(object);
    return {};
  });
}

wq_code wq_worker_get(wq_worker worker, int64_t timeout_us, wq_bytes* key, wq_error* error) {
  return Call<WorkerObject>(worker.handle, error, [&](WorkerObject& w) {
    return TakeOne(*w.queue, timeout_us, key, GetOf(*w.worker));
  });
}

wq_code wq_worker_get_batch(wq_worker worker, size_t max_keys, int64_t timeout_us, wq_bytes* list,
                            int32_t* lanes, size_t* count, wq_error* error) {
  return Call<WorkerObject>(worker.handle, error, [&](WorkerObject& w) {
    return TakeBatch(*w.queue, max_keys, timeout_us, list, lanes, count, GetOf(*w.worker));
  });
}

wq_code wq_worker_shards(wq_worker worker, uint32_t* shards, size_t capacity, size_t* count,
                         wq_error* error) {
  return Call<WorkerObject>(worker.handle, error, [&](WorkerObject& w) -> Status {
    if (count == nullptr || (shards == nullptr && capacity > 0)) {
      return wq::c::NullArgument("shards or count");
    }
    const std::vector<uint32_t> own = w.worker->Shards();
    *count = own.size();
    std::copy_n(own.begin(), std::min(capacity, own.size()), shards);
    return {};
  });
}

wq_code wq_worker_leave(wq_worker worker, wq_error* error) {
  return wq::c::Enter(error, [worker] { return Leave(worker.handle); });
}

}  // extern "C"
