// Controller: workers that take keys from a queue and reconcile them.
//
//   wq::Controller controller(queue, [](const wq::ReconcileContext& context) -> wq::Result {
//     return MakeItSo(context.key());      // a Status; an error is retried, later and later
//   }, {.max_concurrent_reconciles = 4});
//   wq::Status s = controller.Start();
//   ...                                    // SIGTERM:
//   s = controller.Drain(20s);
//   if (!s.ok()) s = controller.Stop(5s);  // What is not worked off stays in the store.
//
// What a reconcile returns decides what becomes of the key. Done is the controller's business:
//
//   result                      the queue is told                   counted as
//   --------------------------  ----------------------------------  -------------------------------
//   Ok                          Forget                              success
//   an error, an exception      AddRateLimited, with its text       error (and exceptions)
//   RequeueAfter(delay)         Forget, AddAfter                    requeue_after
//   Requeue()                   AddRateLimited, without a text      requeue
//   TerminalError(error)        Quarantine, or Forget: an option    error and terminal_errors
//   error ShuttingDown in Stop  nothing: the key is left            error and left
//
// A key is never reconciled by two workers at once, and a long reconcile delays no other key while
// a worker is free. The queue may have shards; then the workers join it.
//
// Threading: thread-safe. The reconciler is called by all workers at once. It must not call Done.
// It may call everything else of the queue and the controller: Stop and Drain do not wait then.
// Lifetime: within the queue's. Stop it before Store::Close, which does not know of reconciles.
// A crash: whatever was being reconciled is reconciled again, first in its lane; so is a key that
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

#include "wq/status.h"

namespace wq {

class Queue;

// What came of one reconcile. A Status is a Result: `return status;`. Copies are independent.
class Result {
 public:
  Result() = default;                                   // Success.
  Result(Status status) : error_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  // Look again, by the queue's limiter: counts as a failure of the key.
  static Result Requeue();
  // Look again after `delay`, the failures forgotten. delay <= 0 is success.
  static Result RequeueAfter(std::chrono::microseconds delay);
  // No retry will help. An `error` that is Ok is success.
  static Result TerminalError(Status error);

  const Status& error() const { return error_; }
  bool terminal() const { return terminal_; }
  bool requeue() const { return requeue_; }
  std::chrono::microseconds requeue_after() const { return requeue_after_; }

 private:
  Status error_;           // Not Ok: the other fields but terminal_ do not count.
  bool terminal_ = false;  // The error is not to be retried.
  bool requeue_ = false;   // Counts if requeue_after_ is none.
  std::chrono::microseconds requeue_after_{0};  // <= 0: none.
};

// What a reconciler is told. Valid during the call; the stop token may be kept. The constructor is
// there for tests of reconcilers. Immutable.
class ReconcileContext {
 public:
  ReconcileContext(const Queue* queue, std::string key, std::stop_token stop)
      : queue_(queue), key_(std::move(key)), stop_(std::move(stop)) {}

  const std::string& key() const { return key_; }
  // Stop is requested when the timeout is over, and by Controller::Stop. Callbacks that are
  // registered with it run on the controller's thread, or on the one that calls Stop: they have to
  // be short.
  const std::stop_token& stop_token() const { return stop_; }
  // How often the key failed before this attempt, also in earlier lives of the process: 0 at first.
  uint64_t NumRequeues() const;
  // Whether the key was added again since it was handed out. It will be reconciled once more
  // anyway.
  bool AddedAgain() const;

 private:
  const Queue* const queue_;
  const std::string key_;
  const std::stop_token stop_;
};

using Reconciler = std::function<Result(const ReconcileContext& context)>;

// Each reconcile has one of these.
enum class ReconcileOutcome : uint8_t {
  kSuccess = 0,
  kError = 1,
  kRequeue = 2,
  kRequeueAfter = 3,
};
// "success", "error", "requeue", "requeue_after".
std::string_view ReconcileOutcomeName(ReconcileOutcome outcome);

// A reconcile that is over. The views are valid during the call that gets them.
struct Reconciled {
  std::string_view key;
  ReconcileOutcome outcome = ReconcileOutcome::kSuccess;
  std::string_view error;  // Of kError: its text.
  bool terminal = false;   // A terminal error. Implies kError, as does `exception`.
  bool exception = false;  // It threw.
  bool timed_out = false;  // The timeout was over before it ended, whatever it returned then.
  bool left = false;       // The queue was not told: the key stays in the store for the next start.
  std::chrono::nanoseconds duration{0};  // Of the reconciler's call, real time.
};

// Is told of each reconcile, by the worker, outside all locks. Thread-safe. It must not throw: a
// program in which it does ends.
class ControllerObserver {
 public:
  virtual ~ControllerObserver() = default;
  virtual void OnBegin(std::string_view /*key*/) noexcept {}
  virtual void OnEnd(const Reconciled& /*reconciled*/) noexcept {}  // The queue was told before.
};

// A reading of a controller's counters, all of one instant.
struct ControllerCounters {
  uint64_t success = 0;  // A finished reconcile is in one of these four.
  uint64_t error = 0;
  uint64_t requeue = 0;
  uint64_t requeue_after = 0;
  uint64_t terminal_errors = 0;  // Of `error`.
  uint64_t exceptions = 0;       // Of `error`. (Others call them panics.)
  uint64_t timeouts = 0;         // Of all four.
  uint64_t left = 0;             // Keys that were handed out and stay in the store; see Result.
  uint64_t queue_errors = 0;  // Calls of the queue that returned NotDurable, or worse. See Health.
  size_t active_workers = 0;  // In a reconcile now.
};

// What becomes of a key that failed with Result::TerminalError.
enum class TerminalErrorPolicy : uint8_t {
  kQuarantine = 0,  // It stays in the store with its error, until it is released or dropped.
  kDrop = 1,        // It is forgotten. A later Add brings it back.
};

inline constexpr uint32_t kMaxConcurrentReconciles = 65535;

struct ControllerOptions {
  // Workers, a thread each. 1 to kMaxConcurrentReconciles.
  uint32_t max_concurrent_reconciles = 1;

  // After so much real time the reconcile's stop token is triggered, and a timeout counted. The
  // reconcile is not ended by force: until it returns, its worker and its key are busy. 0: never.
  // It costs one thread for the controller.
  std::chrono::microseconds reconcile_timeout{0};

  // An Add that came while the failing reconcile ran is quarantined with the key; under kDrop the
  // key is reconciled again for it.
  TerminalErrorPolicy terminal_errors = TerminalErrorPolicy::kQuarantine;

  // Borrowed; must outlive the controller. nullptr: nobody.
  ControllerObserver* observer = nullptr;
};

class Controller {
 public:
  // Does nothing yet; bad arguments are reported by Start. `queue` is borrowed.
  Controller(Queue* queue, Reconciler reconciler, const ControllerOptions& options = {});
  // Stop(0), and then waits for the running reconciles, however long they take. A controller that
  // was never started leaves its queue alone. REQUIRES: not called by a reconciler, an observer or
  // a stop callback of this controller.
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Starts the workers; once. InvalidArgument: bad arguments, or it was started before.
  // ShuttingDown: the queue is shutting down, or Stop was called. IOError: the system gives no more
  // threads; nothing runs.
  Status Start();

  // Queue::ShutDownWithDrain: what is queued is worked off, Adds are refused, delays do not fire.
  // Then the workers end. Stop tokens are not triggered. TimedOut: the drain goes on, until Stop.
  // ShuttingDown: Stop, or another shut-down of the queue, came meanwhile; or the caller is one
  // that the drain waits for (a reconciler): it has begun. Blocks.
  Status Drain(std::chrono::microseconds timeout);

  // Queue::Stop, and triggers the stop tokens of the running reconciles. Those that end within
  // `grace` have their results recorded as ever, but for an error ShuttingDown: that is taken for
  // "interrupted" and counts no failure; the key is left, and comes first at the next start. What
  // is queued stays in the store too. TimedOut: some reconciles still run; their results will be
  // recorded as well. ShuttingDown: called by a reconciler; the stop is under way, and nobody was
  // waited for. Blocks.
  Status Stop(std::chrono::microseconds grace);

  ControllerCounters Counters() const;

  // The last bad status of a call that a worker made to the queue; Ok if there was none.
  // NotDurable: the workers go on, see Store::Health. Anything else: a key could not be requeued
  // (it is longer than QueueOptions::max_key_bytes now, say); it is left, held until the store is
  // closed.
  Status Health() const;

  struct Impl;

 private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace wq
