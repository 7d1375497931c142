// FailureRecovery: makes a store durable again after a failed write, without a restart.
//
//   Journal journal(storage, {.recover = [&] { return failure_recovery.Run(); }, ...});
//   FailureRecovery failure_recovery(&store, &journal, options);
//
// Memory has the complete state of every open queue. So once the disk works again, what the disk
// lacks is written from memory. One attempt:
//
//   1. Reopen: the storage is opened again, in the same object and by the same owner; nothing is
//      created.
//   2. BeginImage: from now on the journal keeps what the queues append.
//   3. AppendDifference: the rows of each queue are copied under its lock, and then compared with
//      the disk without a lock. The result puts the rows that the disk lacks, and erases those that
//      memory does not have.
//   4. WriteImage: that result, and behind it what was appended during 3, as one synced batch.
//
// A crash during an attempt leaves either the old prefix or the new state, complete. A failed
// attempt is repeated, each time after twice the wait. After Corruption and Locked the wait is the
// longest at once: they are seldom temporary, but a failing disk can also read as a corrupt one.
//
// Thread-safe. Run is called by the journal's background thread, so a healthy store needs no thread
// for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "engine/commit/journal.h"
#include "storage/mutation_batch.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class FailureRecovery {
 public:
  // The store to recover.
  class Target {
   public:
    virtual ~Target() = default;
    // Opens the storage again.
    virtual Status Reopen() = 0;
    // Appends the mutations that make the disk the image of memory.
    virtual Status AppendDifference(storage::MutationBatch* batch) = 0;
  };

  struct Options {
    std::chrono::milliseconds backoff_min{100};
    std::chrono::milliseconds backoff_max{30'000};
    // A larger difference is not written, because memory would hold it several times. The store
    // then stays NotDurable until the queues have shrunk, or it is closed and opened.
    size_t max_difference_bytes = size_t{2} << 30;
    // Called without a lock, with NotDurable when an outage begins and Ok when it has ended.
    std::function<void(const Status&)> on_health = nullptr;
    Clock* clock = nullptr;  // Borrowed. For the times in Health's message.
  };

  // All pointers are borrowed.
  FailureRecovery(Target* target, Journal* journal, Options options);
  FailureRecovery(const FailureRecovery&) = delete;
  FailureRecovery& operator=(const FailureRecovery&) = delete;

  // Makes attempts until the journal is healthy: true; or until Stop, or an attempt that returns
  // NotOwner: false. Blocks.
  // REQUIRES: the journal has failed.
  bool Run();

  // Has Run make an attempt at once, and returns the health of the journal after it; Ok if nothing
  // has failed. NotOwner: the failure is final. Blocks: for the attempt. REQUIRES: not called from
  // on_health.
  Status Recover();

  // Ends Run. Blocks: until an attempt that is under way has ended.
  void Stop();

  // Ok, or NotDurable with the failure, when it began, how many attempts failed and why the last
  // one did, and when the next one is.
  Status Health() const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  Status Attempt();
  void BeginOutage() WQ_EXCLUDES(mu_);
  // Blocks: until the next attempt is due, or a call of Recover asks for one. Returns asked_ as it
  // is then: the attempt answers those calls of Recover. nullopt: Run has to end.
  std::optional<uint64_t> AwaitAttempt() WQ_EXCLUDES(mu_);
  // Returns whether the attempt has succeeded.
  bool EndAttempt(Status status, uint64_t asked) WQ_EXCLUDES(mu_);
  void Report(const Status& status) const WQ_EXCLUDES(mu_);

  Target* const target_;
  Journal* const journal_;
  const Options options_;

  mutable Mutex mu_;
  CondVar run_cv_;                            // asked_ or stopped_ has changed.
  CondVar done_cv_;                           // answered_, running_ or stopped_ has changed.
  bool running_ WQ_GUARDED_BY(mu_) = false;   // Run is under way.
  bool stopped_ WQ_GUARDED_BY(mu_) = false;   // Run is to end.
  uint64_t asked_ WQ_GUARDED_BY(mu_) = 0;     // Calls of Recover that an attempt has to answer.
  uint64_t answered_ WQ_GUARDED_BY(mu_) = 0;  // Of those, how many are answered. <= asked_
  std::chrono::milliseconds wait_ WQ_GUARDED_BY(mu_){0};     // Before the next attempt.
  SteadyClock::time_point recovered_at_ WQ_GUARDED_BY(mu_);  // The end of the last outage.
  SteadyClock::time_point next_at_ WQ_GUARDED_BY(mu_);       // When the next attempt is.
  // Of the present outage; of the last one while the store is healthy:
  int64_t since_us_ WQ_GUARDED_BY(mu_) = 0;  // Wall time; 0: there was no outage.
  uint64_t attempts_ WQ_GUARDED_BY(mu_) = 0;
  Status last_attempt_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
