// WorkerPool: threads that get keys, run the command for each, and record the outcome.
//
//   WorkerPool pool(workers, context);
//   pool.Start();
//   while (!pool.AllEnded()) … poll(pool.event_fd()) …
//   pool.Join();
//
//   the command     earlier failures    what is recorded
//   succeeded       any                 WorkQueue::Succeed
//   failed          < max_requeues      WorkQueue::Fail
//   failed          max_requeues        WorkQueue::Fail, which quarantines the key; it is named on
//                                       stderr
//   killed by us    any                 nothing: the key stays pending in the store
//   stdout is gone  any                 nothing, and all workers stop
//   cannot be run   any                 nothing, and all workers stop: no key's command can
//   no resources    any                 nothing; it is started again when there is room
//
// If the process that served the queue has ended since the command began, the outcome is lost: the
// key was queued again, and a warning names it.
//
// A queue's observer, if it has one, receives each attempt; see docs/metrics.md.
//
// A store that has failed (NotDurable) has the outcome in memory: it counts, and the next key waits
// until the store has recovered.
//
// The workers end when the key source is drained or stopped, or after an error of the store.
// Threading: Start, Join and the destructor belong to one thread; the rest is thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tools/wqctl/work/key_source.h"
#include "tools/wqctl/work/output.h"
#include "tools/wqctl/work/runner.h"
#include "tools/wqctl/work/work_queue.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wqctl {

// What the workers use. All of it outlives the pool.
struct WorkerContext {
  const CommandRunner& runner;
  KeySource& source;
  OutputPrinter& printer;
};

// The sum of what the queues have queued, processing and delayed. nullopt: a queue does not report
// its counts now.
std::optional<wq::QueueCounts> SumOf(const WorkQueues& queues);

// Why no further key is begun though some may be left.
enum class StopReason : uint8_t { kNone, kSignal, kError, kOutputGone, kNotOwner };

class WorkerPool {
 public:
  struct Totals {
    uint64_t succeeded = 0;
    uint64_t failed_attempts = 0;
    uint64_t quarantined = 0;
    // Commands that we killed, or whose output is lost; the keys stay pending.
    uint64_t unrecorded = 0;
  };

  WorkerPool(int workers, const WorkerContext& context);
  ~WorkerPool();  // REQUIRES: not started, or joined.
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // IOError: not even one thread can be started. Fewer than `workers` is a warning.
  wq::Status Start();
  void Join();

  // No further key is begun; running commands continue. The first reason counts. Returns the number
  // of running commands.
  int Stop(StopReason reason);
  StopReason stop_reason() const;
  bool AllEnded() const { return running_threads_ == 0; }

  // An eventfd that becomes readable when a worker ends or the pool begins to stop.
  int event_fd() const { return event_fd_; }
  void ClearEvent() const;

  Totals totals() const;
  wq::Status error() const;  // The first error; it has stopped the pool. Not NotOwner.
  std::string ProgressText() const;
  // "waiting for 2 delayed keys; the next one is due in 9m58s"; empty if a key is queued or
  // processing, or none is delayed.
  std::string WaitText() const;

 private:
  void RunWorker();
  // What was recorded of an attempt.
  enum class Recorded : uint8_t { kNothing, kOutcome, kQuarantined };

  void Process(const Job& job);
  Recorded RunAndRecord(const Job& job, CommandResult* result);
  bool RunUntilStarted(const Job& job, JobOutput* output, CommandResult* result);
  wq::Status Record(const Job& job, const CommandResult& result, Recorded* recorded);
  wq::Status RecordSuccess(const Job& job, Recorded* recorded);
  wq::Status RecordFailure(const Job& job, const std::string& error, Recorded* recorded);
  void WarnOfLostOutcome(const Job& job, const wq::Status& why);
  void WarnOfResources(const std::string& error);
  void StopFor(const wq::Status& error);
  void Notify() const;

  const int workers_;
  const WorkerContext context_;
  const int event_fd_;
  std::atomic<int> running_threads_{0};
  std::atomic<uint64_t> succeeded_{0};
  std::atomic<uint64_t> failed_attempts_{0};
  std::atomic<uint64_t> quarantined_{0};
  std::atomic<uint64_t> unrecorded_{0};
  std::atomic<bool> warned_of_resources_{false};
  std::vector<std::thread> threads_;

  mutable wq::Mutex mu_;
  StopReason stop_reason_ WQ_GUARDED_BY(mu_) = StopReason::kNone;
  wq::Status error_ WQ_GUARDED_BY(mu_);  // The first one.
};

}  // namespace wqctl
