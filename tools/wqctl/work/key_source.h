// KeySource: decides when the next command may begin, and with which key.
//
//   KeySource source(options);               // Each queue's on_ready calls source.Wake.
//   source.SetQueues(queues);                // Before the first Next.
//   while (source.Next(&job)) {              // On each worker's thread.
//     … run, Done …
//     source.End(job);
//   }
//
// Keys are taken from the queues in turn, and one thread at a time takes one. A thread that waits
// for room holds no key. A key is never handed out while an earlier job of it runs: such a job is
// left when the process that served the store has ended and its keys were queued again.
// Wake, End and Stop end every wait. Only a run that ends by itself polls, while it has nothing to
// do: other processes may process the last keys, and their ends are not reported.
//
// A store that has failed (WorkQueue::Health) is waited for: until it has recovered no key is
// handed out, and the run does not end by itself.
// Thread-safe. Lifetime: longer than the store that calls Wake; Clear before that ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "tools/wqctl/work/work_queue.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wqctl {

struct KeySourceOptions {
  int workers = 1;
  bool follow = false;  // Not drained when no key is left.
  // Opens the queues anew, after the process that served them has ended. *again: it may succeed
  // later. Called by one thread at a time.
  std::function<wq::Status(WorkQueues* queues, bool* again)> reopen;
  // The store is waited for, with NotDurable; and with Ok: it has recovered. Called by one thread
  // at a time.
  std::function<void(const wq::Status& health)> on_health;
  // For how long `reopen` is repeated.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

class KeySource {
 public:
  explicit KeySource(const KeySourceOptions& options);
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;

  void SetQueues(WorkQueues queues);
  WorkQueues queues() const;
  // Ends the use of the queues, a stop and an error; SetQueues begins anew. REQUIRES: no thread is
  // in Next.
  void Clear();

  // Hands out a key. False: stopped, drained, or after an error. Drained: nothing is processing,
  // and nothing is queued or delayed in a queue that is not paused.
  // Blocks: until one of these.
  bool Next(Job* job);
  wq::Status error() const;  // The queues cannot be opened anew, or no token can be taken.
  // The job has ended; `job` may be queued again.
  void End(const Job& job);

  // The command of a job could not be started for lack of a resource. Lets fewer commands run at
  // once, and blocks until a retry makes sense: a job has ended, or some time has passed. False
  // when stopped.
  bool WaitForResources();

  // A call returned NotDurable: the next key waits until the store has recovered.
  void NoteStoreFailed();

  // Next hands out nothing more. Returns the number of jobs that have not ended.
  int Stop();
  bool stopped() const;

  void Wake();  // A queue's on_ready.

 private:
  using Clock = std::chrono::steady_clock;

  bool TakeTurn(Job* job) WQ_EXCLUDES(turn_mu_);
  bool TakeNext(Job* job) WQ_REQUIRES(turn_mu_);
  void EndJob();
  bool WaitForRoom() WQ_REQUIRES(turn_mu_);
  wq::Status TakeKey(Job* job) WQ_REQUIRES(turn_mu_);
  bool WaitForKey(uint64_t changes);
  bool Drained() const;
  wq::Status Health() const;
  bool AwaitStore() WQ_REQUIRES(turn_mu_);
  bool WaitUnlessStopped(std::chrono::milliseconds time);
  bool Idle() const;
  bool Reopen() WQ_REQUIRES(turn_mu_);
  bool Admit() WQ_REQUIRES(turn_mu_);
  bool WaitForEarlierJob(const Job& job) WQ_EXCLUDES(turn_mu_);
  bool EndWith(wq::Status error);

  const KeySourceOptions options_;

  wq::Mutex turn_mu_;  // Held by the thread that takes the next key; before mu_.
  size_t next_queue_ WQ_GUARDED_BY(turn_mu_) = 0;

  mutable wq::Mutex mu_;
  wq::CondVar changed_;
  WorkQueues queues_ WQ_GUARDED_BY(mu_);
  wq::Status error_ WQ_GUARDED_BY(mu_);
  bool stopped_ WQ_GUARDED_BY(mu_) = false;
  // The queue and key of each job that runs.
  std::set<std::pair<std::string, std::string>> running_ WQ_GUARDED_BY(mu_);
  uint64_t changes_ WQ_GUARDED_BY(mu_) = 0;       // Calls of Wake and End.
  bool store_failed_ WQ_GUARDED_BY(mu_) = false;  // NoteStoreFailed was called.
  int busy_ WQ_GUARDED_BY(mu_) = 0;               // Jobs that have not ended.
  int waiting_ WQ_GUARDED_BY(mu_) = 0;            // Of those, the ones that wait for resources.
  int retries_ WQ_GUARDED_BY(mu_) = 0;            // Of those, the ones that End lets retry.
  // So many jobs may be busy: less than `workers` after a lack of resources, then one more each
  // second.
  int limit_ WQ_GUARDED_BY(mu_);
  Clock::time_point limit_changed_ WQ_GUARDED_BY(mu_);
};

}  // namespace wqctl
