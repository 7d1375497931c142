// ReadyListeners: the functions that are called when keys of a queue become ready.
//
//   const uint64_t id = listeners.Add([] { … });
//   listeners.Call();        // Any thread, without the queue's lock.
//   listeners.Remove(id);    // The function is not called any more.
//
// Thread-safe. No lock is held while a function is called, so it may use the queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/mutex.h"

namespace wq {

class ReadyListeners {
 public:
  ReadyListeners() = default;
  ~ReadyListeners() { delete table_.load(std::memory_order_relaxed); }
  ReadyListeners(const ReadyListeners&) = delete;
  ReadyListeners& operator=(const ReadyListeners&) = delete;

  uint64_t Add(std::function<void()> function);
  // Blocks: until no call of the function is under way. An unknown id is ignored.
  void Remove(uint64_t id);
  // Called after every change that makes a key ready. Without a listener it costs one load. A
  // thread that adds a listener takes the queue's lock afterwards, to check for keys, and a change
  // behind that hold of the lock sees the listener.
  void Call() const {
    if (const Table* const table = table_.load(std::memory_order_acquire); table != nullptr) {
      CallAll(*table);
    }
  }

 private:
  struct Listener {
    std::function<void()> function;
    size_t calls = 0;  // Under way. Guarded by mu.
  };
  // Made for the first listener: most queues have none, and closed ones are to be small.
  struct Table {
    mutable Mutex mu;
    mutable CondVar call_ended;  // For Remove.
    uint64_t last_id WQ_GUARDED_BY(mu) = 0;
    std::map<uint64_t, std::unique_ptr<Listener>> listeners WQ_GUARDED_BY(mu);
  };
  Table& Made();
  static void CallAll(const Table& table) WQ_EXCLUDES(table.mu);

  std::atomic<Table*> table_{nullptr};  // Owned.
};

}  // namespace wq
