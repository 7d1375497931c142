// ReadyListeners: the functions that are called when keys of a queue become ready, beside
// QueueOptions::on_ready.
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
  uint64_t Add(std::function<void()> function) WQ_EXCLUDES(mu_);
  // Blocks: until no call of the function is under way. An unknown id is ignored.
  void Remove(uint64_t id) WQ_EXCLUDES(mu_);
  // Called after every change that makes a key ready. Without a listener it costs one load, which
  // needs no memory order: a thread that adds a listener takes the queue's lock afterwards, to
  // check for keys, and a change behind that hold of the lock sees the listener.
  void Call() const WQ_EXCLUDES(mu_) {
    if (any_.load(std::memory_order_relaxed)) {
      CallAll();
    }
  }

 private:
  struct Listener {
    std::function<void()> function;
    size_t calls = 0;  // Under way. Guarded by mu_.
  };
  void CallAll() const WQ_EXCLUDES(mu_);

  mutable Mutex mu_;
  mutable CondVar call_ended_;  // For Remove.
  std::atomic<bool> any_{false};
  uint64_t last_id_ WQ_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::unique_ptr<Listener>> listeners_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
