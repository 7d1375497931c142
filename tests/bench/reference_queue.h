// ReferenceQueue: the queue as the field has it, in memory: the sets `dirty` and `processing`, the
// order `queue`, one mutex, one condition variable. What wq is measured against.
//
// Plain on purpose: the textbook's containers and no tricks. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace wq::bench {

class ReferenceQueue {
 public:
  // Whether the key needs work that it did not need before.
  bool Add(std::string_view bytes) {
    std::string key(bytes);
    const std::lock_guard lock(mu_);
    if (shutting_down_ || !dirty_.insert(key).second) {
      return false;
    }
    if (!processing_.contains(key)) {
      queue_.push_back(std::move(key));
      added_.notify_one();
    }
    return true;
  }

  // Blocks until there is a key; false at the end.
  bool Get(std::string* key) {
    std::unique_lock lock(mu_);
    added_.wait(lock, [this] { return !queue_.empty() || shutting_down_; });
    if (queue_.empty()) {
      return false;
    }
    *key = std::move(queue_.front());
    queue_.pop_front();
    processing_.insert(*key);
    dirty_.erase(*key);
    return true;
  }

  void Done(const std::string& key) {
    const std::lock_guard lock(mu_);
    processing_.erase(key);
    if (dirty_.contains(key)) {
      queue_.push_back(key);
      added_.notify_one();
    }
    if (shutting_down_) {
      added_.notify_all();
    }
  }

  size_t Len() const {
    const std::lock_guard lock(mu_);
    return queue_.size();
  }

  void ShutDown() {
    const std::lock_guard lock(mu_);
    shutting_down_ = true;
    added_.notify_all();
  }

 private:
  mutable std::mutex mu_;
  std::condition_variable added_;
  std::deque<std::string> queue_;               // Each is dirty and not processing.
  std::unordered_set<std::string> dirty_;       // All that needs work.
  std::unordered_set<std::string> processing_;  // What workers hold.
  bool shutting_down_ = false;
};

}  // namespace wq::bench
