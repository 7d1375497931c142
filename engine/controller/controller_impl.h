// Controller::Impl: the threads of a Controller, and what they share.
//
// A worker takes a key, enters a Run, calls the reconciler, leaves the Run, tells the queue. One
// more thread waits for the Run that times out next, if there are timeouts. The lock is held for no
// call to the queue, the reconciler, the observer or a stop token.
#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "wq/controller.h"
#include "wq/options.h"
#include "wq/queue.h"

namespace wq {

struct Controller::Impl {
  using SteadyTime = std::chrono::steady_clock::time_point;

  // A reconcile under way.
  struct Run {
    std::stop_source stop;
    SteadyTime begun;
    bool timed_out = false;
  };
  using Runs = std::list<Run>;

  Impl(Queue* q, Reconciler r, const ControllerOptions& o)
      : queue(q), reconciler(std::move(r)), options(o) {}

  Status CheckStart() const;
  Status JoinShards(std::vector<std::unique_ptr<Worker>>* workers) const;
  Status StartThreads(std::vector<std::unique_ptr<Worker>>* workers) WQ_REQUIRES(mu);

  // A worker's thread. `worker` is nullptr if the queue has no shards.
  void Work(std::unique_ptr<Worker> worker);
  // Takes the next key. False: there will be none.
  bool Take(Worker* worker, std::string* key, Runs::iterator* run);
  void Reconcile(const std::string& key, Runs::iterator run);
  Result Call(const ReconcileContext& context, bool* threw) const;
  // Tells the queue. False: the key is left.
  bool Settle(const std::string& key, const Result& result);
  Status Requeue(const std::string& key, const Result& result);
  Status Note(Status s);  // Keeps a bad one for Health; returns it.
  void Count(const Reconciled& reconciled);

  // The thread for the timeouts.
  void Watch();
  std::optional<std::stop_source> NextTimedOut();  // Blocks. None: the workers have ended.

  void RequestStop();
  bool Inside() const;  // The calling thread is one of these.
  static SteadyTime After(SteadyTime now, std::chrono::microseconds timeout) {
    // A century is as good as for ever, and cannot overflow.
    return now + std::clamp(timeout, std::chrono::microseconds(0), kMaxDelay);
  }
  Status AwaitWorkers(std::optional<SteadyTime> deadline);

  Queue* const queue;
  const Reconciler reconciler;
  const ControllerOptions options;

  mutable Mutex mu;
  CondVar watch_cv;  // Something times out before watched, or live is 0.
  CondVar ended_cv;  // live is 0.
  bool started WQ_GUARDED_BY(mu) = false;
  bool stopping WQ_GUARDED_BY(mu) = false;  // No reconcile begins any more.
  size_t live WQ_GUARDED_BY(mu) = 0;        // Workers that have not ended.
  // By begin; so by timeout too, as that is the same for all.
  Runs runs WQ_GUARDED_BY(mu);
  SteadyTime watched WQ_GUARDED_BY(mu) = SteadyTime::min();  // When Watch looks again by itself.
  ControllerCounters counters WQ_GUARDED_BY(mu);  // All but active_workers, which is runs.size().
  Status health WQ_GUARDED_BY(mu);
  std::vector<std::thread> threads WQ_GUARDED_BY(mu);  // Until somebody takes them to join them.
};

}  // namespace wq
