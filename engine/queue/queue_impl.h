// Queue::Impl: a QueueState with its lock, its waiting threads, its clock and its journal.
//
// A changing call has three steps:
//   1. No lock is held: the arguments are checked (check_arguments.h) and the clock is read.
//   2. Under mu: QueueState makes the transition, and EndTransition appends its mutations to the
//      journal.
//   3. No lock is held: EndCall wakes waiting threads, arms the timer, and waits for the disk as
//      the durability asks.
//
// Locks: limiter_mu, then mu, then the journal's. Under mu there is no I/O, no logging, and no call
// of user code except the clock's readings.
//
// The definitions are in the file of their purpose: queue_add.cc, queue_hand_out.cc,
// queue_change.cc, queue_observe.cc, queue_sources.cc, source_list.cc, queue_read.cc,
// queue_list.cc, queue_shut_down.cc; the rest is in queue_impl.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "base/mutex.h"
#include "base/process_mark.h"
#include "engine/commit/journal.h"
#include "engine/history/history_buffer.h"
#include "engine/history/history_recorder.h"
#include "engine/metrics/metrics.h"
#include "engine/queue/check_arguments.h"
#include "engine/queue/getter_queue.h"
#include "engine/queue/ready_listeners.h"
#include "engine/queue/timer.h"
#include "engine/replication/fence.h"
#include "engine/state/queue_state.h"
#include "engine/state/shard_table.h"
#include "storage/mutation_batch.h"
#include "wq/queue.h"

namespace wq {

// Counts the Adds of a call that find the queue full; reported when the call has left the lock.
class FullCount {
 public:
  explicit FullCount(QueueMetrics* metrics) : metrics_(metrics) {}
  ~FullCount() {
    if (adds_ > 0 && metrics_ != nullptr) {
      metrics_->CountFull(adds_);
    }
  }
  FullCount(const FullCount&) = delete;
  FullCount& operator=(const FullCount&) = delete;

  void Count(uint64_t adds = 1) { adds_ += adds; }

 private:
  QueueMetrics* const metrics_;
  uint64_t adds_ = 0;
};

template <typename Result>  // A BatchResult or an ObserveResult.
void CountOutcome(AddOutcome outcome, Result* result) {
  ++(outcome == AddOutcome::kAdded  ? result->added
     : outcome == AddOutcome::kHeld ? result->held
                                    : result->deduplicated);
}

struct Queue::Impl final : Timer::Target, HistoryRecorder::Source {
  // `journal` is nullptr for a queue in memory only. All pointers are borrowed.
  // `store_fence` is nullptr unless the store is replicated.
  Impl(std::string queue_name, storage::QueueId queue_id, const QueueOptions& queue_options,
       Clock* store_clock, Journal* store_journal, Timer* store_timer,
       const std::shared_ptr<MetricsProvider>& provider, const Fence* store_fence = nullptr);

  // Rebuilds the state from the store. Before any other call. Blocks: for reading all records of
  // the queue, and for one write. After an error the queue may only be destroyed.
  Status Restore(const storage::Reader& reader);

  // Puts every record that the disk should have of this queue; see QueueState::AppendImage.
  void AppendImage(storage::MutationBatch* image) const WQ_EXCLUDES(mu);
  // Erases the rows in `reader` of objects that their source does not have.
  Status AppendErasures(const storage::Reader& reader, storage::MutationBatch* image) const
      WQ_EXCLUDES(mu);

  // Records each transition from now on. After Restore, before other calls, at most once.
  void StartHistory(std::unique_ptr<HistoryBuffer> buffer) WQ_EXCLUDES(mu);
  void TakeHistory(HistoryBytes* bytes) override WQ_EXCLUDES(mu);
  void NoteWorker(std::span<const HeldKey> keys, std::string_view worker) WQ_EXCLUDES(mu);
  void NoteStarted(std::span<const std::string> keys) WQ_EXCLUDES(mu);

  // Of QueueOptions, what calls read beside the state.
  struct Options {
    explicit Options(const QueueOptions& of)
        : max_pending(of.max_pending),
          max_requeues(of.max_requeues),
          max_key_bytes(of.max_key_bytes),
          debounce(of.debounce),
          shards(of.shards),
          durability(of.durability),
          when_full(of.when_full),
          group_of(of.group_of) {}

    size_t max_pending;
    uint64_t max_requeues;
    size_t max_key_bytes;
    Debounce debounce;
    uint32_t shards;
    Durability durability;
    WhenFull when_full;
    std::function<std::string(std::string_view key)> group_of;
  };

  // --- Both ends of a call (queue_impl.cc) ---

  // What a transition leaves to be done without mu, by EndCall.
  struct Effects {
    Position position = 0;          // To wait for; 0: nothing was appended.
    GetterQueue::Woken woken = {};  // Waiting Gets and Adds, to be notified.
    int64_t arm_us = Timer::kNever;
    bool fired = false;    // FireDueStep has done something.
    bool ready = false;    // A Get that found nothing may find something now: see ListenReady.
    bool drained = false;  // A waiting ShutDownWithDrain may return.
    uint64_t adds = 0;     // For the metrics.
    uint64_t held_adds = 0;
    // Whether a transition whose result no call waits for has left something to be done.
    bool Any() const {
      return position != 0 || fired || ready || drained || !woken.empty() ||
             arm_us != Timer::kNever;
    }
  };
  // Appends the mutations of a transition to the journal and notes their position in the state.
  // `covered_by`: the position of the record that already covers the call, for a transition without
  // mutations; the call waits for that one. `awaited`: what the call will wait for.
  Effects EndTransition(Position covered_by, Durability awaited) noexcept WQ_REQUIRES(mu);
  // Appends the mutations of a transition, if there are any, and returns their position; otherwise
  // `covered_by`.
  Position AppendBatch(Position covered_by, Durability awaited) WQ_REQUIRES(mu) {
    return batch.empty() ? covered_by : AppendMutations(awaited);
  }
  Position AppendMutations(Durability awaited) WQ_REQUIRES(mu);
  // Sets effects->arm_us if something is due before the timer fires.
  void ArmTimer(Effects* effects) WQ_REQUIRES(mu) {
    if (const std::optional<int64_t> due_us = state->NextDue();
        due_us.has_value() && *due_us < armed_us && !closed) {
      armed_us = *due_us;
      effects->arm_us = *due_us;
    }
  }
  Status EndCall(Effects&& effects, Durability durability) WQ_EXCLUDES(mu);
  // EndCall after firing delays. A fired key is on disk as delayed until its change is written, so
  // it cannot be lost, and the caller gets no error.
  void EndFiring(Effects&& effects) WQ_EXCLUDES(mu) {
    static_cast<void>(EndCall(std::move(effects), Durability::kAsync));
  }

  // Locked: this process was forked from the queue's. NotOwner: it does not own the store any more.
  // To be called before any lock is taken: a lock may have been copied while it was held.
  [[gnu::always_inline]] Status CheckProcess() const {
    if (process.Forked()) {
      return RefuseProcess();
    }
    return Fenced() ? fence->Refusal() : Status::Ok();
  }
  // Whether the ownership has ended, or may have.
  bool Fenced() const {
    return fence != nullptr && !fence->Holds() && !WQ_MUTANT(hand_out_after_the_lease);
  }
  // InvalidArgument: kReplicated in a store that is not replicated.
  Status CheckDurability(std::optional<Durability> durability) const;
  Status RefuseProcess() const;
  Status RefuseAdd() const WQ_REQUIRES(mu);  // The status of an Add after ShutDown or Close.

  // --- Adding (queue_add.cc) ---

  // A key that a worker holds may be added again even if this refuses it: max_key_bytes may have
  // been lowered since the key was added, and its Done would lose it otherwise.
  Status CheckKey(std::string_view key) const { return wq::CheckKey(key, options.max_key_bytes); }
  bool IsHeld(std::string_view key) const WQ_EXCLUDES(mu) {
    const MutexLock lock(mu);
    return state->IsProcessing(key);
  }
  Status CheckAdd(const AddOptions& add) const WQ_REQUIRES(mu) {
    if (Status s = CheckDurability(add.durability); !s.ok()) {
      return s;
    }
    return CheckAddOptions(add, !add.lane.has_value() || state->HasLane(*add.lane), name);
  }
  // The time at which a key is added now. It is exact only for metrics, which measure how long a
  // key is queued.
  int64_t AddedAtUs() const { return metrics != nullptr ? clock->WallUs() : clock->RoughWallUs(); }
  // The group to add `key` with; empty for none, and for an invalid key. Calls the user's function.
  std::string GroupOf(std::string_view key, const AddOptions& add) const WQ_EXCLUDES(mu);
  static QueueState::Wanted WantedOf(const AddOptions& add, std::string_view group) {
    return {.lane = add.lane,
            .group = group,
            .reason = add.reason,
            .trace_parent = add.trace_parent,
            .delay_mode = add.delay_mode,
            .if_absent = add.if_absent};
  }
  // Fetches the cache lines that a lookup of `key` reads. Without the lock, so that the fetch and
  // the wait for the lock overlap.
  void Prefetch(const HashedKey& key) const { places_seen.Prefetch(key); }

  // How an Add is gathered: by its own option, or by the queue's. A `quiet` of 0: it is not.
  const Debounce& DebounceOf(const AddOptions& add) const {
    return add.debounce.has_value() ? *add.debounce : options.debounce;
  }
  // What the caller of an Add waits for.
  Durability DurabilityOf(const AddOptions& add) const {
    return add.durability.value_or(options.durability);
  }
  // The time of an Add. Its steady part is set only if the Add is gathered.
  Time TimeOfAdd(const AddOptions& add) const {
    return DebounceOf(add).quiet.count() > 0 ? clock->Now() : Time{.wall_us = AddedAtUs()};
  }
  QueueState::Added AddOne(const HashedKey& key, const AddOptions& add,
                           const QueueState::Wanted& wanted, Time now) const WQ_REQUIRES(mu) {
    const Debounce& debounce = DebounceOf(add);
    return debounce.quiet.count() > 0 ? state->AddDebounced(key.bytes, debounce, wanted, now)
                                      : state->Add(key, wanted, now.wall_us);
  }

  // How many keys the Add of `key` makes pending at once: 0 or 1.
  size_t PlacesFor(std::string_view key, const AddOptions& add) const WQ_REQUIRES(mu) {
    const bool none =
        DebounceOf(add).quiet.count() > 0 || LeavesAlone(key, add) || !state->WouldBePending(key);
    return none ? 0 : 1;
  }
  bool HasRoom(std::string_view key, const AddOptions& add) const WQ_REQUIRES(mu) {
    return Fits(1, /*waited=*/false) || PlacesFor(key, add) == 0;
  }
  // Whether there is room for so many keys; for more than the bound, once nothing is pending.
  // `waited`: the call has waited for room; others find none as long as there are some that wait,
  // so that they do not overtake them.
  bool Fits(size_t keys, bool waited) const WQ_REQUIRES(mu) {
    return options.max_pending == 0 || keys == 0 ||
           (state->pending() + std::min(keys, options.max_pending) <= options.max_pending &&
            (waited || !adders.busy()));
  }
  bool LeavesAlone(std::string_view key, const AddOptions& add) const WQ_REQUIRES(mu) {
    return add.if_absent && state->Find(key) != nullptr;
  }
  // Does what QueueOptions::when_full says, for a call without room: waits until `deadline` for as
  // many places as `needed` returns then, or refuses it. Calls get room in the order in which they
  // have begun to wait. `waited`: this one did before. Full, ShuttingDown: the call is refused.
  // REQUIRES: the batch is empty if it waits; after Ok the call ends with EndTransition, or calls
  // WakeAdders.
  Status AwaitRoom(const std::function<size_t()>& needed, GetterQueue::Deadline deadline,
                   bool waited = false) WQ_REQUIRES(mu);
  Status AwaitRoom(std::string_view key, const AddOptions& add, GetterQueue::Deadline deadline)
      WQ_REQUIRES(mu) {
    return AwaitRoom([&]() WQ_UNCHECKED { return PlacesFor(key, add); }, deadline);
  }
  // Takes out the calls that there is room for now.
  GetterQueue::Woken WakeAdders() WQ_REQUIRES(mu);
  static GetterQueue::Deadline RoomDeadline(const AddOptions& add) {
    return add.wait_for_room.has_value() ? After(*add.wait_for_room) : std::nullopt;
  }

  // A call of AddBatch.
  struct Batch {
    std::span<const std::string_view> keys;
    const AddOptions& options;
    BatchResult* result;
    GetterQueue::Deadline room_deadline;
    size_t next = 0;    // The first key that is neither added nor refused yet.
    uint64_t full = 0;  // Keys that found no room.
    Position last = 0;  // The greatest position that one of the keys has to wait for.
    // The step under way: keys whose groups are known already.
    size_t begin = 0;
    size_t end = 0;
    std::vector<std::string> groups = {};  // Of all keys of the step; empty: there are none.
  };
  // Makes the next keys the step, and calls the user's code: the limiter, and for their groups.
  void BeginStep(Batch* call) WQ_EXCLUDES(mu);
  // Adds keys from call->next on, up to the end of the step, under one hold of mu. Ends before a
  // key that has to wait for room, unless it is the first one. Blocks for room, and while too much
  // is open.
  Status AddStep(Batch* call) WQ_EXCLUDES(mu);
  Status AddKeys(Batch* call, Time now) WQ_REQUIRES(mu);

  // Ok unless a delayed or rate-limited Add of `key` is refused now. A worker may requeue the key
  // that it holds even after ShutDown.
  Status CheckRequeue(std::string_view key, const AddOptions& add) const WQ_REQUIRES(mu);
  // A delayed or rate-limited Add: `transition(state, wanted, shutting_down)` makes it and returns
  // QueueState::Added. The caller passes `effects` to EndCall.
  template <typename Transition>
  Status Requeue(std::string_view key, const std::string& group, const AddOptions& add,
                 AddOutcome* outcome, Effects* effects, const Transition& transition)
      WQ_EXCLUDES(mu);
  // AddRateLimited, by `transition(state, failure, wanted, now)`.
  template <typename Transition>
  Status CountFailure(std::string_view key, std::string_view error, const AddOptions& add,
                      AddOutcome* outcome, const Transition& transition) WQ_EXCLUDES(mu);
  void CountRetry() {
    if (metrics != nullptr) {
      metrics->CountRetry();
    }
  }

  // See queue_calls.h. `dead`: its worker died, and no failure is counted.
  Status PutBackDead(std::string_view key, bool* failed) WQ_EXCLUDES(mu);
  Status PutBack(std::string_view key, bool dead) WQ_EXCLUDES(mu);

  // --- Sources (queue_observe.cc, queue_sources.cc, source_list.cc) ---

  struct ObserveCall;
  Status Observe(ObserveCall* call) WQ_EXCLUDES(mu);
  void Enter(ObserveCall* call) const WQ_REQUIRES(mu);
  void Leave(ObserveCall* call) const WQ_REQUIRES(mu);
  void GiveUp(ObserveCall* call) WQ_REQUIRES(mu);
  Status FindSource(const ObserveCall& call, TrackedSource** source) const WQ_REQUIRES(mu);
  Status CheckObserve(const ObserveCall& call) const WQ_REQUIRES(mu);
  Status FindObserved(ObserveCall* call, TrackedObject* object) const WQ_REQUIRES(mu);
  // The source of the list; InvalidArgument: the list is over.
  Status FindList(std::string_view source, uint64_t list, TrackedSource** of) const WQ_REQUIRES(mu);
  Status ObserveStep(ObserveCall* call, Time now, Effects* effects,
                     std::optional<storage::SourceId>* row_of) WQ_REQUIRES(mu);
  Effects ApplyObserved(const ObserveCall& call, TrackedObject object,
                        const storage::ObjectRecord& record, const ObjectFacts& facts, Time now)
      WQ_REQUIRES(mu);
  Position AddObserved(const ObserveCall& call, Time now) const WQ_REQUIRES(mu);
  void PrepareKeys(ObserveCall* call) const WQ_EXCLUDES(mu);
  Status ReadRow(storage::SourceId source, ObserveCall* call) const WQ_EXCLUDES(mu);
  size_t NewlyPending(const ObserveCall& call) const WQ_REQUIRES(mu);
  std::vector<SourceInfo> ReadSources() const WQ_REQUIRES(mu);
  // As Change, until Close.
  Status ChangeSources(const std::function<Status(QueueState&)>& transition,
                       std::optional<Durability> durability = std::nullopt) WQ_EXCLUDES(mu);
  // Erases the rows of the objects of a source that was removed, and then its own.
  Status EraseRowsOf(storage::SourceId source) WQ_EXCLUDES(mu);

  // --- Handing out (queue_hand_out.cc) ---

  using Deadline = GetterQueue::Deadline;
  static Deadline After(std::chrono::microseconds timeout);
  Status RefuseGet() const;  // The status of Queue::Get if the queue has shards.
  static Status NotHeld(std::string_view key);
  // Hands out a key: of the shards of `worker` if the queue has shards.
  Status Take(uint64_t worker, Deadline deadline, std::string* key, Lane* lane) WQ_EXCLUDES(mu);
  struct Taken {
    Status status;  // Of the call. Ok: `key` is handed out.
    std::string* key;
    Lane* lane;             // May be nullptr.
    int64_t queued_us = 0;  // How long the key was queued, if there are metrics.
  };
  // Takes a key, and waits for one until the deadline. False: `effects` must first be passed to
  // EndFiring without mu, and the call is to be repeated.
  bool TakeOrWait(uint64_t worker, Deadline deadline, Taken* taken, Effects* effects)
      WQ_REQUIRES(mu);
  // Takes a key without waiting. False: there is none now.
  bool TryTake(uint64_t worker, Taken* taken, Effects* effects) WQ_REQUIRES(mu);
  // Hands out up to `limit` keys: of the shards of `worker` if the queue has shards.
  Status TakeQueued(uint64_t worker, size_t limit, std::vector<HeldKey>* keys) WQ_EXCLUDES(mu);
  // Takes up to `limit` keys. The caller passes `effects` to EndFiring without mu. *wall_us: when
  // they were taken, if there are metrics.
  Status TakeStep(uint64_t worker, size_t limit, std::vector<HeldKey>* keys, int64_t* wall_us,
                  Effects* effects) WQ_REQUIRES(mu);
  const Item* NextItem(uint64_t worker) WQ_REQUIRES(mu);
  // For a hand-out, whose durability no call waits for: adds to what FireDueStep has left to be
  // done.
  void EndHandOut(Effects* effects) WQ_REQUIRES(mu) {
    if (shutting_down || state->NeedsTime()) {
      EndRareHandOut(effects);
    }
  }
  void EndRareHandOut(Effects* effects) WQ_REQUIRES(mu);
  // ShuttingDown if no key will be handed out any more.
  Status CheckEmpty() const WQ_REQUIRES(mu);
  Status CheckStopped() const WQ_REQUIRES(mu);
  // Notifies Gets that wait, after shards have changed hands or at a shutdown.
  void WakeGetters(GetterQueue::Woken woken) const WQ_EXCLUDES(mu);

  // --- Delays (queue_impl.cc) ---

  // Fires what is due, at most kFireLimit delays. Every Get and every reading calls it first, so a
  // due key is queued for them before the timer has fired it. REQUIRES: *effects is as made.
  void FireDueStep(Effects* effects) WQ_REQUIRES(mu) {
    if (const std::optional<int64_t> due_us = state->NextDue(); due_us.has_value() && !closed) {
      FireIfDue(*due_us, effects);
    }
  }
  void FireIfDue(int64_t due_us, Effects* effects) WQ_REQUIRES(mu);
  int64_t FireDue() override;  // For the timer: a step of what is due.

  // --- Changes (queue_change.cc) ---

  enum class RefusedAfter : uint8_t {
    kShutDown,  // The change may put a key into the queue.
    kClose,
  };
  // A changing call: `transition(state)` makes the change and returns the status, under the hold of
  // mu that checks for the shutdown. REQUIRES: a status other than Ok means that nothing has
  // changed. No `durability`: that of the queue.
  template <typename Transition>
  Status Change(RefusedAfter refused_after, const Transition& transition,
                std::optional<Durability> durability = std::nullopt) WQ_EXCLUDES(mu);
  // The changes of QueueAccess to one key. `delay` is of kRelease.
  Status ChangeKey(KeyChange change, std::string_view key, std::chrono::microseconds delay,
                   Durability durability) WQ_EXCLUDES(mu);
  // From now on these limits count, in place of those of the options.
  Status SetLimits(const GroupLimits& of_queue, const GroupLimits& of_groups) WQ_EXCLUDES(mu);

  // --- Readings (queue_read.cc) ---

  // Fires what is due; returns reading(state), under the same hold of mu.
  template <typename Reading>
  auto Read(const Reading& reading) WQ_EXCLUDES(mu) {
    for (;;) {
      Effects effects;
      {
        const MutexLock lock(mu);
        FireDueStep(&effects);
        if (!effects.fired) {
          return reading(*state);
        }
      }
      EndFiring(std::move(effects));
    }
  }
  // Whether the store's metrics show this queue's gauges. One call at a time.
  void ShowGauges();
  void HideGauges();
  QueueReading ReadGauges() const WQ_EXCLUDES(mu);
  class LaneReading;
  void ReadLanes(LaneReading* lanes) const WQ_EXCLUDES(mu);

  // --- Shutting down (queue_shut_down.cc) ---

  // Each includes those before it.
  enum class Ending : uint8_t {
    kShutDown,  // No Adds; what is queued is handed out.
    kStop,      // Nothing is handed out.
    kClose,     // No changes.
  };
  // Returns drain_release as this call has set it: a drain ends when a later call changes it again.
  uint64_t BeginShutDown(Ending ending) WQ_EXCLUDES(mu);
  void Close() { BeginShutDown(Ending::kClose); }
  // Frees the state and what else a closed queue needs no more. What stays is some hundred bytes:
  // what calls read without mu, and what answers them. Readings show an empty queue then.
  // REQUIRES: Close was called, and AppendImage is not called any more.
  void FreeKeys() WQ_EXCLUDES(mu);
  // For a queue that is shutting down: no key can be handed out until a Done or a Resume.
  bool Empty() const WQ_REQUIRES(mu) { return state->Len() == 0 || state->paused(); }
  bool Drained() const WQ_REQUIRES(mu) {
    return Empty() && state->processing() == 0 && !freed_undrained;
  }

  const ProcessMark process;
  const std::string name;
  const storage::QueueId id;
  const Options options;
  const bool sharded;
  const std::shared_ptr<Limiter> limiter;
  // Held from before the limiter is asked until its state is in the journal: so the states reach
  // the disk in the order in which the limiter returned them. Taken before mu.
  Mutex limiter_mu;
  Clock* const clock;
  Journal* const journal;  // Null: a queue in memory.
  Timer* const timer;
  const Fence* const fence;  // Null: the store is not replicated.

  bool recorded = false;  // Whether StartHistory was called: then NoteWorker has something to do.

  PlacesSeen places_seen;  // Of the state, for Prefetch.

  ReadyListeners listeners;

  mutable Mutex mu{HoldWatch::Current()};
  GetterQueue getters WQ_GUARDED_BY(mu){GetterQueue::First::kNewest};  // Gets that wait.
  // Adds that wait for room.
  GetterQueue adders WQ_GUARDED_BY(mu){GetterQueue::First::kOldest};
  CondVar drain_cv;  // Drained() may have become true, or drain_release has changed.
  // Mutations of the transition under way; empty between two transitions.
  storage::MutationBatch batch WQ_GUARDED_BY(mu);
  std::unique_ptr<QueueState> own_state WQ_GUARDED_BY(mu);  // Null after FreeKeys.
  // own_state; after FreeKeys an empty one that all closed queues share and only read. A transition
  // checks for `closed` before.
  QueueState* state WQ_GUARDED_BY(mu);
  // Of the last EndTransition: state.readied(), and if there are metrics adds() and held_adds().
  uint64_t readied_seen WQ_GUARDED_BY(mu) = 0;
  uint64_t adds_seen WQ_GUARDED_BY(mu) = 0;
  uint64_t held_adds_seen WQ_GUARDED_BY(mu) = 0;
  std::unique_ptr<HistoryBuffer> history WQ_GUARDED_BY(mu);  // Null: nothing is recorded.
  ProcessingTimes times WQ_GUARDED_BY(mu);                   // Empty if there are no metrics.
  std::unique_ptr<ShardTable> shards WQ_GUARDED_BY(mu);      // Null: none.
  // The earliest due time that the timer was given and has not fired; kNever: none.
  int64_t armed_us WQ_GUARDED_BY(mu) = Timer::kNever;
  bool shutting_down WQ_GUARDED_BY(mu) = false;
  bool stopped WQ_GUARDED_BY(mu) = false;          // Implies shutting_down.
  bool closed WQ_GUARDED_BY(mu) = false;           // Implies stopped.
  bool freed_undrained WQ_GUARDED_BY(mu) = false;  // Before FreeKeys it was not Drained().
  uint64_t drain_release WQ_GUARDED_BY(mu) = 0;    // How often a shutdown has begun.

  const std::unique_ptr<QueueMetrics> metrics;  // Null: none. Last: its gauges read the above.
};

}  // namespace wq
