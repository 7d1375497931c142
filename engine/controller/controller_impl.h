// Controller::Impl: the threads of a Controller, and the state that they share.
//
// A worker takes a key from the queue, adds a Run, calls the reconciler, removes the Run, and
// reports the result to the queue. If reconciles have a timeout, one more thread (Watch)
// requests the stop of Runs that time out. mu is never held during a call to the queue, the
// reconciler, the observer or a stop token.
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
  // Takes the next key and adds a Run for it. False: the worker ends.
  bool Take(Worker* worker, std::string* key, Runs::iterator* run);
  void Reconcile(const std::string& key, Runs::iterator run);
  AttemptTrace BeginTrace(const std::string& key) const;
  Result Call(const ReconcileContext& context, bool* threw) const;
  // Reports the result to the queue. False: the key is left without Done, and so stays in the
  // store.
  bool ReportResult(const std::string& key, const Result& result);
  Status Requeue(const std::string& key, const Result& result);
  Status NoteError(Status s);  // Returns `s`; keeps an error for Health.
  void Count(const Reconciled& reconciled);

  // The thread for timeouts.
  void Watch();
  // Blocks until a Run times out. nullopt: all workers have ended.
  std::optional<std::stop_source> NextTimedOut();

  void RequestStop();
  bool IsOwnThread() const;  // Whether the calling thread is one of this controller.
  static SteadyTime After(SteadyTime now, std::chrono::microseconds timeout) {
    // kMaxDelay, a century, cannot overflow.
    return now + std::clamp(timeout, std::chrono::microseconds(0), kMaxDelay);
  }
  // Waits for all workers to end, and joins the threads. TimedOut: some have not ended in time.
  Status AwaitWorkers(std::optional<SteadyTime> deadline);

  Queue* const queue;
  const Reconciler reconciler;
  const ControllerOptions options;

  mutable Mutex mu;
  CondVar watch_cv;  // A Run times out before `watch_wakes_at`, or live is 0.
  CondVar ended_cv;  // live is 0.
  bool started WQ_GUARDED_BY(mu) = false;
  bool stopping WQ_GUARDED_BY(mu) = false;  // No further reconcile begins.
  size_t live WQ_GUARDED_BY(mu) = 0;        // Workers that have not ended.
  // In the order of `begun`, and so of their timeouts, as all have the same one.
  Runs runs WQ_GUARDED_BY(mu);
  SteadyTime watch_wakes_at WQ_GUARDED_BY(mu) =
      SteadyTime::min();                          // When Watch wakes without a notification.
  ControllerCounters counters WQ_GUARDED_BY(mu);  // All but active_workers, which is runs.size().
  Status health WQ_GUARDED_BY(mu);
  std::vector<std::thread> threads WQ_GUARDED_BY(mu);  // Until AwaitWorkers takes them to join.
};

}  // namespace wq
