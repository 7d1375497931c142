// ReferenceQueue: the textbook's queue in memory, with which wq is compared: the sets `dirty` and
// `processing`, the order `queue`, one mutex, one condition variable.
//
// Standard containers, without optimizations. Thread-safe.
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
  // True if the key was not dirty before.
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

  // Blocks until a key is queued; false after ShutDown.
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
  std::deque<std::string> queue_;               // Keys that are dirty and not processing.
  std::unordered_set<std::string> dirty_;       // Keys that need work.
  std::unordered_set<std::string> processing_;  // Keys that workers hold.
  bool shutting_down_ = false;
};

}  // namespace wq::bench
