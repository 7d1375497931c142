// The objects of the handles of stores, queues, workers and sources. An object lives from its
// Register to its Release in the Registry; a thread that has it pinned may use it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/clock.h"
#include "bindings/c/boundary/metrics.h"
#include "bindings/c/boundary/readiness.h"
#include "bindings/c/boundary/registry.h"
#include "wq/queue.h"
#include "wq/source.h"
#include "wq/store.h"

namespace wq::c {

// The handles of the objects of one kind that belong to a store.
class HandleList {
 public:
  // Registers the object and adds its handle. On an exception the object stays the caller's: it is
  // not destroyed under mu_.
  template <typename T>
  uint64_t Insert(std::unique_ptr<T>& object) WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    handles_.reserve(handles_.size() + 1);  // Nothing may fail after Register.
    handles_.push_back(Register(object));
    return handles_.back();
  }
  void Erase(uint64_t handle) WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    std::erase(handles_, handle);
  }
  std::vector<uint64_t> All() const WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return handles_;
  }

 private:
  mutable Mutex mu_;
  std::vector<uint64_t> handles_ WQ_GUARDED_BY(mu_);
};

struct StoreObject {
  static constexpr Kind kKind = Kind::kStore;
  uint64_t handle = 0;                   // Its own.
  std::shared_ptr<TextMetrics> metrics;  // Null: none.
  std::unique_ptr<CallbackClock> clock;  // Null: the machine's.
  std::unique_ptr<Store> store;
  HandleList queues;   // Also those that were closed: their handles stay valid.
  HandleList workers;  // Those that have not left.
  HandleList sources;  // And their lists, until they are freed.
};

struct QueueObject {
  static constexpr Kind kKind = Kind::kQueue;
  StoreObject* store = nullptr;  // Lives longer.
  Queue* queue = nullptr;
  size_t max_key_bytes = 0;
  Readiness readiness;  // Ends before the store.
};

struct WorkerObject {
  static constexpr Kind kKind = Kind::kWorker;
  StoreObject* store = nullptr;  // Lives longer, as does `queue`.
  QueueObject* queue = nullptr;
  std::unique_ptr<Worker> worker;
};

// A source, or a list of it.
struct SourceObject {
  static constexpr Kind kKind = Kind::kSource;
  StoreObject* store = nullptr;  // Lives longer, as does the queue.
  Source source;
  Mutex mu;                          // One call of a list at a time.
  std::unique_ptr<SourceList> list;  // Constant. Null: it is none.
};

}  // namespace wq::c
