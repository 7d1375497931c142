// FailureRecovery: makes a store durable again after a failed write, without a restart.
//
//   Journal journal(storage, {.recover = [&] { return failure_recovery.Run(); }, ...});
//   FailureRecovery failure_recovery(&store, &journal, options);
//
// Memory holds the whole truth of every open queue; so once the disk is back, what it lacks is
// written from there. One attempt:
//
//   1. Reopen: the storage is opened anew, in its place and by its owner; nothing is created.
//   2. BeginImage: from now on the journal keeps what the queues append.
//   3. AppendDifference: queue by queue, under that queue's lock only, the rows that memory holds; then,
//      outside it, what the disk lacks of them and what it has too much.
//   4. WriteImage: that, with what was appended meanwhile behind it, as one synced batch.
//
// A crash in between leaves the old prefix or the new state whole. An attempt that fails is repeated,
// after twice the wait. Damage (Corruption) and a lost ownership (Locked) are looked at again only after the
// longest wait: they seldom go away, but a sick disk may also read as a damaged one.
//
// Thread-safe. Run is called by the journal's background thread; its waiting costs nothing while
// the store is healthy.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/mutex.h"
#include "engine/commit/journal.h"
#include "storage/mutation_batch.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class FailureRecovery {
 public:
  // What is mended.
  class Target {
   public:
    virtual ~Target() = default;
    virtual Status Reopen() = 0;
    // Appends what makes the disk the image of memory.
    virtual Status AppendDifference(storage::MutationBatch* batch) = 0;
  };

  struct Options {
    std::chrono::milliseconds backoff_min{100};
    std::chrono::milliseconds backoff_max{30'000};
    // A larger difference is not written: it is held in memory several times over. NotDurable until the
    // queues have shrunk, or the store is closed and opened.
    size_t max_difference_bytes = size_t{2} << 30;
    // Called with each change of the condition, holding no lock.
    std::function<void(const Status&)> on_health = nullptr;
    Clock* clock = nullptr;  // Borrowed. For what Health says.
  };

  // All pointers are borrowed.
  FailureRecovery(Target* target, Journal* journal, Options options);
  FailureRecovery(const FailureRecovery&) = delete;
  FailureRecovery& operator=(const FailureRecovery&) = delete;

  // Tries until the journal is healthy: then true; false after Stop. Blocks.
  // REQUIRES: the journal has failed.
  bool Run();

  // Has Run try at once, and returns what came of it; Ok if nothing has failed. Blocks: for the
  // attempt. REQUIRES: not called from on_health.
  Status Recover();

  // Ends Run. Blocks: for an attempt that is under way.
  void Stop();

  // Ok, or NotDurable: the failure, since when, what was tried, and when it is tried again.
  Status Health() const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  Status Attempt();
  void BeginOutage() WQ_REQUIRES(mu_);
  bool AwaitAttempt() WQ_REQUIRES(mu_);
  void Tell(const Status& status) const;

  Target* const target_;
  Journal* const journal_;
  const Options options_;

  mutable Mutex mu_;
  CondVar run_cv_;                            // asked_ or stopped_ changed.
  CondVar done_cv_;                           // answered_ or running_ changed.
  bool running_ WQ_GUARDED_BY(mu_) = false;   // Run is under way.
  bool stopped_ WQ_GUARDED_BY(mu_) = false;   // Run is to end.
  uint64_t asked_ WQ_GUARDED_BY(mu_) = 0;     // Calls of Mend so far.
  uint64_t answered_ WQ_GUARDED_BY(mu_) = 0;  // Of those, how many an attempt came after.
  std::chrono::milliseconds wait_ WQ_GUARDED_BY(mu_){0};     // Before the next attempt.
  SteadyClock::time_point recovered_at_ WQ_GUARDED_BY(mu_);  // The last time.
  SteadyClock::time_point next_at_ WQ_GUARDED_BY(mu_);       // The next attempt.
  // Of this outage, or the last one.
  int64_t since_us_ WQ_GUARDED_BY(mu_) = 0;  // Wall time; 0: there was none.
  uint64_t attempts_ WQ_GUARDED_BY(mu_) = 0;
  Status last_attempt_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
