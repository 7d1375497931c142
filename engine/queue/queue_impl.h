// Queue::Impl: the thin shell around a QueueState: its lock, the waiting, the
// clock, the journal.
//
// Every changing call goes the same way: check the arguments; under mu, make
// the transition and hand its mutations to the journal; outside mu, wake whom
// it concerns and wait as the durability asks. Locks: mu, then the inbox's or
// the journal's. Nothing is written, called back or logged under mu.
//
// An Add that waits for nothing and is not asked for its outcome goes to the
// inbox instead, when it may, and is made by whoever has mu next: every call
// begins with that (Lock). The journal's thread comes for it at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mutant.h"
#include "base/mutex.h"
#include "base/process_mark.h"
#include "engine/commit/journal.h"
#include "engine/metrics/metrics.h"
#include "engine/queue/getter_queue.h"
#include "engine/queue/inbox.h"
#include "engine/queue/timer.h"
#include "engine/state/queue_state.h"
#include "engine/state/shard_table.h"
#include "storage/mutation_batch.h"
#include "wq/queue.h"

namespace wq {

// How soon the journal's own thread has to look at what a call appends: nobody
// waits at kAsync.
inline Journal::Urgency UrgencyOf(Durability durability) {
  return durability == Durability::kAsync || WQ_MUTANT(acknowledge_before_write)
             ? Journal::Urgency::kUrgent
             : Journal::Urgency::kWaited;
}

// Keys whose places come into the cache while those before them are added.
inline constexpr size_t kAddsAhead = 16;

struct Queue::Impl final : Timer::Target {
  // `journal` is nullptr for a queue in memory only. All pointers are borrowed.
  Impl(std::string queue_name, storage::QueueId queue_id, const QueueOptions& queue_options,
       Clock* store_clock, Journal* store_journal, Timer* store_timer,
       const std::shared_ptr<MetricsProvider>& provider);

  // Rebuilds the state from the store. Before anything else. Blocks.
  Status Restore(const storage::Reader& reader);

  // Puts all that should be on disk of the queue; see QueueState::AppendImage.
  void AppendImage(storage::MutationBatch* image) const WQ_EXCLUDES(mu);

  // How mu is taken: makes the Adds that are in the inbox first, and lets the
  // journal's thread know afterwards. (What looks at no key, or whose effects
  // the inbox's may come behind, takes a MutexLock.)
  class WQ_TS(scoped_lockable) Lock {
   public:
    explicit Lock(Impl& rep) WQ_TS(acquire_capability(rep.mu));
    ~Lock() WQ_TS(release_capability());
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Impl& impl_;
  };

  // What a transition leaves to be done outside mu.
  struct Effects {
    Position position = 0;          // To wait for.
    GetterQueue::Woken woken = {};  // Calls of Get that are to look again.
    int64_t arm_us = Timer::kNever;
    bool fired = false;    // By Promote.
    bool ready = false;    // A Get that found nothing may find something now: see on_ready.
    bool drained = false;  // A drain that waits is over.
    uint64_t adds = 0;     // To count.
  };
  // Ends a transition: appends its mutations, stamps them. `standing` is the
  // position of the record that stands for the call if there was nothing to
  // append.
  Effects Finish(Position standing, Journal::Urgency urgency) WQ_REQUIRES(mu);
  // The rest of the call: wakes, arms, counts, waits.
  Status Settle(const Effects& effects, Durability durability) WQ_EXCLUDES(mu);

  // Locked: this process was forked from the queue's. Before any lock is taken.
  Status CheckProcess() const { return process.Forked() ? RefuseProcess() : Status::Ok(); }
  Status RefuseProcess() const;
  Status CheckKey(std::string_view key) const;
  Status CheckAdd(const AddOptions& add) const WQ_REQUIRES(mu);
  Status RefuseAdd() const WQ_REQUIRES(mu);  // The status of an Add after ShutDown or Close.
  // The group to add `key` with; empty for none. Calls the user's function.
  std::string GroupOf(std::string_view key, const AddOptions& add) const WQ_EXCLUDES(mu);

  // --- The inbox (queue_inbox.cc) ---

  // REQUIRES, for true: no other queue has the journal, since what survives a
  // crash is a prefix of the calls to all of them.
  void AllowInbox(bool allowed) WQ_EXCLUDES(mu);
  bool MayUseInbox() const;  // As far as its options go.
  // Whether a call has to wait for the disk.
  bool IsWaitedFor(Durability durability) const {
    return journal != nullptr && durability != Durability::kAsync;
  }
  // Puts the Add into the inbox; false: the caller has to make it. REQUIRES:
  // CheckKey, not IsWaitedFor.
  bool OfferAdd(std::string_view key, const AddOptions& add) WQ_EXCLUDES(mu);
  // Makes the Adds of the inbox. Afterwards: Kick.
  void MakeAdds() WQ_REQUIRES(mu);
  // For the journal's thread.
  void Collect() WQ_EXCLUDES(mu) { const Lock lock(*this); }
  void OpenInbox() WQ_REQUIRES(mu);  // Unless it has to be shut now.
  void ShutInbox() WQ_REQUIRES(mu);  // Makes what is in it.
  // Lanes do not change, so this needs no lock.
  bool HasLane(Lane lane) const WQ_UNCHECKED { return state.HasLane(lane); }

  Status NeedsAWorker() const;
  // While the lock is waited for, what is under it may already come into the
  // cache.
  void Prefetch(std::string_view key) const WQ_UNCHECKED { state.Prefetch(key); }

  Status AddStep(std::span<const std::string_view> keys, size_t begin, size_t end,
                 const AddOptions& add, BatchResult* result, Position* last) WQ_EXCLUDES(mu);
  // An Add that a worker may also make, after ShutDown too, for the key that it
  // holds: `transition(state, wanted, shutting_down)` makes it and returns what
  // it did. What is left to be done goes to `effects`: the caller settles it,
  // holding no lock.
  template <typename Transition>
  Status Requeue(std::string_view key, const AddOptions& add, AddOutcome* outcome, Effects* effects,
                 const Transition& transition) WQ_EXCLUDES(mu);
  // A changing call: `transition(state)` makes the change and returns the
  // status; not Ok means that nothing changed. `adds`: it may put a key into
  // the queue, and so is refused after ShutDown.
  template <typename Transition>
  Status Change(Durability durability, const Transition& transition, bool adds = false)
      WQ_EXCLUDES(mu);

  using Deadline = GetterQueue::Deadline;
  static Deadline After(std::chrono::microseconds timeout);
  // Hands out a key; of the shards of `worker` if the queue has shards.
  Status Take(uint64_t worker, Deadline deadline, std::string* key);
  const Item* NextItem(uint64_t worker) WQ_REQUIRES(mu);
  // Fires what is due by now, at most kFireLimit, unless shutting down: whoever
  // looks at the queue finds a due key queued, whether or not the timer's
  // thread has come round to it.
  Effects Promote() WQ_REQUIRES(mu);
  void PromoteAll() WQ_EXCLUDES(mu);
  int64_t FireDue() override;  // For the timer: fires all that is due.

  // Returns the count of releases that a drain beginning now has to compare
  // with.
  uint64_t BeginShutDown(bool stop_now);
  // Nothing will be handed out until something else happens.
  bool Empty() const WQ_REQUIRES(mu) { return state.Len() == 0 || state.paused(); }
  bool Drained() const WQ_REQUIRES(mu) { return Empty() && state.processing() == 0; }
  void WakeAll() WQ_EXCLUDES(mu);  // Every call of Get that waits looks again.
  void TellReady() const WQ_EXCLUDES(mu) {
    if (options.on_ready != nullptr) {
      options.on_ready();
    }
  }
  void Close();  // Stop, and every later call that would change something is refused.

  // Whether the store's metrics show this queue's state. Under the store's
  // lock.
  void ShowGauges();
  void HideGauges();
  QueueReading ReadGauges() const WQ_EXCLUDES(mu);
  void CountRetry() {
    if (metrics != nullptr) {
      metrics->CountRetry();
    }
  }

  const ProcessMark process;
  const std::string name;
  const storage::QueueId id;
  const QueueOptions options;
  const bool sharded;
  const std::shared_ptr<Limiter> limiter;
  // Held from asking the limiter until its state is in the journal, so that the
  // states on disk are in order. Before mu.
  Mutex limiter_mu;
  Clock* const clock;
  Journal* const journal;
  Timer* const timer;

  Inbox inbox;

  mutable Mutex mu;
  bool inbox_allowed WQ_GUARDED_BY(mu) = false;
  InboxAdds adds_taken WQ_GUARDED_BY(mu);  // By the last MakeAdds, which keeps its memory.
  GetterQueue getters WQ_GUARDED_BY(mu);   // Calls of Get that wait; none while the inbox is open.
  CondVar drain_cv;  // Nothing is queued or processing, or the drain was released.
  storage::MutationBatch batch
      WQ_GUARDED_BY(mu);  // Of the transition under way; empty between two.
  QueueState state WQ_GUARDED_BY(mu);
  uint64_t readied_seen WQ_GUARDED_BY(mu) = 0;  // state.readied() for which getters were woken.
  uint64_t adds_seen WQ_GUARDED_BY(mu) = 0;     // state.adds() that were counted.
  ProcessingTimes times WQ_GUARDED_BY(mu);      // Empty if there are no metrics.
  ShardTable shards WQ_GUARDED_BY(mu);
  uint64_t turn WQ_GUARDED_BY(mu) = 0;  // Which of its shards a worker looks at first.
  int64_t armed_us WQ_GUARDED_BY(mu) = Timer::kNever;  // What the timer knows of.
  bool shutting_down WQ_GUARDED_BY(mu) = false;
  bool stopped WQ_GUARDED_BY(mu) = false;        // Implies shutting_down.
  bool closed WQ_GUARDED_BY(mu) = false;         // Implies stopped.
  uint64_t drain_release WQ_GUARDED_BY(mu) = 0;  // Counts what releases a drain.

  const std::unique_ptr<QueueMetrics> metrics;  // Null: none. Last: its gauges read the above.
};

template <typename Transition>
Status Queue::Impl::Change(Durability durability, const Transition& transition, bool adds) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  Effects effects;
  {
    const Lock lock(*this);
    if (closed || (adds && shutting_down)) {
      return RefuseAdd();
    }
    if (Status s = transition(state); !s.ok()) {
      return s;
    }
    effects = Finish(0, UrgencyOf(durability));
  }
  return Settle(effects, durability);
}

template <typename Transition>
Status Queue::Impl::Requeue(std::string_view key, const AddOptions& add, AddOutcome* outcome,
                            Effects* effects, const Transition& transition) {
  const Durability durability = add.durability.value_or(options.durability);
  Status bad_key = CheckKey(key);
  std::string group(add.group.value_or(std::string_view()));
  bool has_group = options.group_of == nullptr || add.group.has_value();
  for (;;) {
    {
      const Lock lock(*this);
      const bool held = state.IsProcessing(key);
      if (!bad_key.ok() && !held) {  // A key that is held was good once: the
                                     // limit may have changed.
        return bad_key;
      }
      if (closed || (shutting_down && !held)) {
        return RefuseAdd();
      }
      if (Status s = CheckAdd(add); !s.ok()) {
        return s;
      }
      if (has_group || state.Knows(key)) {  // A key that is known has its group: nobody is asked.
        const QueueState::Added added =
            transition(state, {.lane = add.lane, .group = group}, shutting_down);
        if (outcome != nullptr) {
          *outcome = added.outcome;
        }
        *effects = Finish(added.position, UrgencyOf(durability));
        return {};
      }
    }
    group = GroupOf(key, add);  // The user's function: outside the lock.
    has_group = true;
  }
}

}  // namespace wq
