// Controller: workers that take keys from a queue and reconcile them.
//
//   wq::Controller controller(queue, [](const wq::ReconcileContext& context) -> wq::Result {
//     return MakeItSo(context.key());      // a Status; an error is retried after a growing delay
//   }, {.max_concurrent_reconciles = 4});
//   wq::Status s = controller.Start();
//   ...                                    // SIGTERM:
//   s = controller.Drain(20s);
//   if (!s.ok()) s = controller.Stop(5s);  // Keys that are not processed stay in the store.
//
// The result of a reconcile decides what happens to its key. The controller calls Done:
//
//   result                      the controller calls                counted as
//   --------------------------  ----------------------------------  -------------------------------
//   Ok                          Forget                              success
//   an error, an exception      AddRateLimited, with its text       error (and exceptions)
//   RequeueAfter(delay)         AddAfter, Forget                    requeue_after
//   Requeue()                   AddRateLimited, without a text      requeue
//   TerminalError(error)        Quarantine, or Forget: an option    error and terminal_errors
//   error ShuttingDown in Stop  nothing: the key is left            error and left
//
// A key is never reconciled by two workers at once, and a long reconcile delays no other key while
// a worker is free. The queue may have shards; then the workers join it.
//
// Threading: thread-safe. The reconciler is called by all workers at once. It must not call Done or
// PutBack of its key. It may make every other call of the queue and the controller; Stop and Drain
// begin, and return without waiting.
// Lifetime: within the queue's. Stop it before Store::Close, which does not wait for reconciles.
// A crash: a key that was being reconciled is reconciled again, first in its lane; so is a key that
// was left. A reconcile may thus run once more than needed, never once too few.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "wq/options.h"
#include "wq/status.h"

namespace wq {

class Queue;

// The result of one reconcile. A Status converts to a Result: `return status;`. Copies are
// independent.
class Result {
 public:
  Result() = default;                                   // Success.
  Result(Status status) : error_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  // Requeues the key after the queue's limiter's delay: counts as a failure of the key.
  static Result Requeue();
  // Clears the failures and requeues the key after `delay`. delay <= 0 is success.
  static Result RequeueAfter(std::chrono::microseconds delay);
  // Fails without a retry. An `error` that is Ok is success.
  static Result TerminalError(Status error);

  const Status& error() const { return error_; }
  bool terminal() const { return terminal_; }
  bool requeue() const { return requeue_; }
  std::chrono::microseconds requeue_after() const { return requeue_after_; }

 private:
  Status error_;           // Not Ok: the other fields except terminal_ are ignored.
  bool terminal_ = false;  // The error is not retried.
  bool requeue_ = false;   // Ignored if requeue_after_ is set.
  std::chrono::microseconds requeue_after_{0};  // <= 0: none.
};

// The arguments of a reconcile. Valid during the call; the stop token may be kept. The constructor
// is public for tests of reconcilers. Immutable.
class ReconcileContext {
 public:
  ReconcileContext(const Queue* queue, std::string key, std::stop_token stop,
                   std::string trace_parent = {})
      : queue_(queue),
        key_(std::move(key)),
        stop_(std::move(stop)),
        trace_parent_(std::move(trace_parent)) {}

  const std::string& key() const { return key_; }
  // Stop is requested when the timeout has passed, and by Controller::Stop. Callbacks that are
  // registered with it run on the controller's timeout thread, or on the thread that calls Stop:
  // they must be short.
  const std::stop_token& stop_token() const { return stop_; }
  // Returns how often the key failed before this attempt, also before restarts: 0 at first.
  uint64_t NumRequeues() const;
  // Reports whether the key was added again since it was handed out. It will be reconciled once
  // more in any case.
  bool AddedAgain() const;
  // Returns why the key was handed out: see Cause.
  wq::Causes Causes() const;
  // The trace context of this attempt, for what it calls and adds: see AttemptTrace. Empty without
  // ControllerOptions::trace.
  const std::string& trace_parent() const { return trace_parent_; }

 private:
  const Queue* const queue_;
  const std::string key_;
  const std::stop_token stop_;
  const std::string trace_parent_;
};

using Reconciler = std::function<Result(const ReconcileContext& context)>;

// The outcome of a reconcile; each has one.
enum class ReconcileOutcome : uint8_t {
  kSuccess = 0,
  kError = 1,
  kRequeue = 2,
  kRequeueAfter = 3,
};
// Returns "success", "error", "requeue" or "requeue_after".
std::string_view ReconcileOutcomeName(ReconcileOutcome outcome);

// What a tracer needs of a reconcile, beside Reconciled: a span of one attempt. Its trace is a new
// one, as many Adds may have led to it; those that had a trace are links of the span.
struct AttemptTrace {
  std::string trace_parent;  // Of the span: the header `traceparent` of W3C Trace Context.
  int64_t begun_at_us = 0;   // Wall time.
  uint64_t failures = 0;     // How often the key had failed before, also before restarts.
  wq::Causes causes = {};    // Why the key was handed out.
};

// A finished reconcile. The views are valid during the call that receives them.
struct Reconciled {
  std::string_view key;
  ReconcileOutcome outcome = ReconcileOutcome::kSuccess;
  std::string_view error;  // Of kError: its text.
  bool terminal = false;   // A terminal error. Implies kError, as does `exception`.
  bool exception = false;  // It threw.
  bool timed_out = false;  // The timeout passed before it ended, whatever it returned.
  bool left = false;       // No call was made: the key stays in the store for the next start.
  std::chrono::nanoseconds duration{0};  // Of the reconciler's call, real time.
  std::string_view queue = {};           // The queue's name.
  const AttemptTrace* trace = nullptr;   // Not null with ControllerOptions::trace.
};

// Receives the beginning and end of each reconcile, from the worker, outside all locks. Must be
// thread-safe. Must not throw: that ends the program.
class ControllerObserver {
 public:
  virtual ~ControllerObserver();
  virtual void OnBegin(std::string_view /*key*/) noexcept {}
  virtual void OnEnd(const Reconciled& /*reconciled*/) noexcept {}  // After the queue's calls.
};

// A controller's counters, all of one instant.
struct ControllerCounters {
  uint64_t success = 0;  // Each finished reconcile is in one of the first four.
  uint64_t error = 0;
  uint64_t requeue = 0;
  uint64_t requeue_after = 0;
  uint64_t terminal_errors = 0;  // Of `error`.
  uint64_t exceptions = 0;       // Of `error`. (controller-runtime calls them panics.)
  uint64_t timeouts = 0;         // Of all four.
  uint64_t left = 0;             // Keys that were handed out and stay in the store; see Result.
  uint64_t queue_errors = 0;  // Calls of the queue that returned NotDurable, or worse. See Health.
  size_t active_workers = 0;  // In a reconcile now.
};

// What happens to a key that failed with Result::TerminalError.
enum class TerminalErrorPolicy : uint8_t {
  kQuarantine = 0,  // It stays in the store with its error, until it is released or dropped.
  kDrop = 1,        // Its failures are cleared, and it is clean. A later Add adds it again.
};

inline constexpr uint32_t kMaxConcurrentReconciles = 65535;

struct ControllerOptions {
  // The number of workers. Each costs a thread. 1 to kMaxConcurrentReconciles. Default: 1.
  uint32_t max_concurrent_reconciles = 1;

  // Requests stop by the reconcile's stop token after this much real time, and counts a timeout.
  // The reconcile is not ended by force: until it returns, its worker and its key are busy. Costs
  // one thread for the controller. Default: 0, never.
  std::chrono::microseconds reconcile_timeout{0};

  // What happens to a key after a terminal error. An Add during the failing reconcile is
  // quarantined with the key; under kDrop the key is reconciled again for it. Default: kQuarantine.
  TerminalErrorPolicy terminal_errors = TerminalErrorPolicy::kQuarantine;

  // Receives each reconcile. Borrowed; must outlive the controller. Costs two calls per reconcile.
  // Default: nullptr, none.
  ControllerObserver* observer = nullptr;

  // Gives each attempt a trace context of its own, and `observer` an AttemptTrace of it. Costs two
  // more readings of the queue for each reconcile. Default: false.
  bool trace = false;
};

class Controller {
 public:
  // Starts nothing; Start reports invalid arguments. `queue` is borrowed.
  Controller(Queue* queue, Reconciler reconciler, const ControllerOptions& options = {});
  // Calls Stop(0), and waits for the running reconciles, however long they take. A controller that
  // was never started does not change its queue. REQUIRES: not called by a reconciler, an observer
  // or a stop callback of this controller.
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Starts the workers; once.
  //   InvalidArgument  an invalid argument, or it was started before.
  //   ShuttingDown     the queue is shutting down, or Stop was called.
  //   IOError          the system has no more threads; nothing runs.
  Status Start();

  // Drains the queue (Queue::ShutDownWithDrain): queued keys are processed, Adds are refused,
  // delays do not fire. Then the workers end. Stop is not requested of the reconciles.
  //   TimedOut      `timeout` has passed; the drain goes on until Stop.
  //   ShuttingDown  Stop, or another shut-down of the queue, was called during the drain; or
  //                 a reconciler, for which the drain waits, called this: the drain has begun.
  // Blocks: until the workers have ended.
  Status Drain(std::chrono::microseconds timeout);

  // Stops the queue (Queue::Stop), and requests stop of the running reconciles. Results of
  // reconciles that end within `grace` are recorded as usual, except the error ShuttingDown: that
  // means "interrupted" and counts no failure; the key is left, and is handed out first at the next
  // start. Queued keys stay in the store too.
  //   TimedOut      some reconciles still run; their results will be recorded too.
  //   ShuttingDown  called by a reconciler; the stop has begun, and was not waited for.
  // Blocks: for at most `grace`.
  Status Stop(std::chrono::microseconds grace);

  ControllerCounters Counters() const;

  // Returns the last error of a call that a worker made to the queue; Ok if none failed. After
  // NotDurable the workers go on, see Store::Health. After any other error (a reconciler has called
  // Done for its key, say) the key is left: if it is still held, it is so until the store is
  // closed.
  Status Health() const;

  struct Impl;

 private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace wq
