// Watcher: the streams of Queue.Watch. While there are any, a thread compares the counters of their
// queues with those that were sent last, every 100 ms; without any there is no thread that wakes
// up.
//
// Threading: thread-safe. Lifetime: outlives its streams.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "server/api/method.h"
#include "wq/queue.h"
#include "wq/status.h"
#include "wq/v1/types.pb.h"

namespace wq {

class Watcher {
 public:
  Watcher() = default;
  ~Watcher();  // REQUIRES: no stream is left.
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // IOError: no thread can be started.
  Status Start();

  // The watch of one stream. It ends when `is_open` is false: the queue was deleted.
  class Watch {
   public:
    Watch(Queue* queue, std::function<bool()> is_open, StreamCarrier* carrier)
        : queue_(queue), is_open_(std::move(is_open)), carrier_(carrier) {}
    Stream::Next Take(v1::QueueCounts* response, Status* end) WQ_EXCLUDES(mu_);
    void Check() WQ_EXCLUDES(mu_);  // Reads the counters, and wakes the carrier if they differ.
    void End(const Status& why) WQ_EXCLUDES(mu_);
    // The carrier is not called after this has returned.
    void Detach() WQ_EXCLUDES(mu_);

   private:
    void Wake() WQ_REQUIRES(mu_);

    Queue* const queue_;
    const std::function<bool()> is_open_;
    Mutex mu_;
    StreamCarrier* carrier_ WQ_GUARDED_BY(mu_);  // Null after Detach.
    v1::QueueCounts counts_ WQ_GUARDED_BY(mu_);
    bool unsent_ WQ_GUARDED_BY(mu_) = false;
    bool checked_ WQ_GUARDED_BY(mu_) = false;
    std::optional<Status> end_ WQ_GUARDED_BY(mu_);
  };
  void Add(const std::shared_ptr<Watch>& watch) WQ_EXCLUDES(mu_);
  void Remove(const std::shared_ptr<Watch>& watch) WQ_EXCLUDES(mu_);
  // Ends all streams.
  void Close() WQ_EXCLUDES(mu_);

 private:
  void Run() WQ_EXCLUDES(mu_);

  Mutex mu_;
  CondVar changed_;
  std::list<std::shared_ptr<Watch>> watches_ WQ_GUARDED_BY(mu_);
  bool closing_ WQ_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace wq
