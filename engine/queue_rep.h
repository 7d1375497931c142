// Queue::Rep: the thin shell around a QueueState: its lock, the waiting, the clock, the journal.
//
// Every changing call goes the same way: check the arguments; under mu, make the transition and
// hand its mutations to the journal; outside mu, wake whom it concerns and wait as the durability
// asks. Locks: mu, then the journal's. Nothing is written, called back or logged under mu.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/journal.h"
#include "engine/mutex.h"
#include "engine/queue_state.h"
#include "engine/timer.h"
#include "storage/mutation_batch.h"
#include "wq/queue.h"

namespace wq {

struct Queue::Rep final : Timer::Target {
  // `journal` is nullptr for a queue in memory only. All pointers are borrowed.
  Rep(std::string queue_name, storage::QueueId queue_id, const QueueOptions& queue_options,
      Clock* store_clock, Journal* store_journal, Timer* store_timer);

  // Rebuilds the state from the store. Before anything else. Blocks.
  Status Restore(const storage::Reader& reader);

  // What a transition leaves to be done outside mu.
  struct Effects {
    Position position = 0;  // To wait for.
    size_t wakes = 0;       // Getters to wake.
    int64_t arm_us = Timer::kNever;
    bool fired = false;  // By Promote.
  };
  // Ends a transition: appends its mutations, stamps them. `standing` is the position of the record
  // that stands for the call if there was nothing to append.
  Effects Finish(Position standing, Journal::Urgency urgency) WQ_REQUIRES(mu);
  // The rest of the call: wakes, arms, waits.
  Status Settle(const Effects& effects, Durability durability) WQ_EXCLUDES(mu);

  Status CheckKey(std::string_view key) const;
  Status CheckLane(const AddOptions& options) const WQ_REQUIRES(mu);
  Status RefuseAdd() const WQ_REQUIRES(mu);  // The status of an Add after ShutDown or Close.

  Status Take(std::optional<std::chrono::steady_clock::time_point> deadline, std::string* key);
  // Fires what is due by now, at most kFireLimit, unless shutting down: whoever looks at the queue
  // finds a due key queued, whether or not the timer's thread has come round to it.
  Effects Promote() WQ_REQUIRES(mu);
  void PromoteAll() WQ_EXCLUDES(mu);
  int64_t FireDue() override;  // For the timer: fires all that is due.

  // Returns the count of releases that a drain beginning now has to compare with.
  uint64_t BeginShutDown(bool stop_now);
  bool Drained() const WQ_REQUIRES(mu) { return state.Len() == 0 && state.processing() == 0; }
  void Close();  // Stop, and every later call that would change something is refused.

  const std::string name;
  const storage::QueueId id;
  const QueueOptions options;
  const std::shared_ptr<Limiter> limiter;
  Clock* const clock;
  Journal* const journal;
  Timer* const timer;

  mutable Mutex mu;
  CondVar ready_cv;  // Something is queued, or shutting_down.
  CondVar drain_cv;  // Nothing is queued or processing, or the drain was released.
  storage::MutationBatch batch
      WQ_GUARDED_BY(mu);  // Of the transition under way; empty between two.
  QueueState state WQ_GUARDED_BY(mu);
  size_t getters WQ_GUARDED_BY(mu) = 0;        // Calls of Get that wait.
  uint64_t pushes_seen WQ_GUARDED_BY(mu) = 0;  // state.pushes() for which getters were woken.
  int64_t armed_us WQ_GUARDED_BY(mu) = Timer::kNever;  // What the timer knows of.
  bool shutting_down WQ_GUARDED_BY(mu) = false;
  bool stopped WQ_GUARDED_BY(mu) = false;        // Implies shutting_down.
  bool closed WQ_GUARDED_BY(mu) = false;         // Implies stopped.
  uint64_t drain_release WQ_GUARDED_BY(mu) = 0;  // Counts what releases a drain.
};

}  // namespace wq
