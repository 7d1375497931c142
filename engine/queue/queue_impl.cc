// Queue::Impl: opening, both ends of a call, and firing delays.

#include "engine/queue/queue_impl.h"

#include <utility>

#include "base/mutant.h"
#include "engine/recovery/recovery.h"
#include "wq/clock.h"
#include "wq/limiter.h"

namespace wq {
namespace {

// Delays that are fired under one hold of the lock: so many, or those of keys with about so many
// bytes.
constexpr size_t kFireLimit = 256;
constexpr size_t kFireBytes = size_t{256} << 10;

std::shared_ptr<Limiter> LimiterOf(const QueueOptions& options) {
  // One for all queues, as it knows no keys. Never destroyed, as threads may outlive main.
  static const auto* const shared = new std::shared_ptr<Limiter>(
      new ItemExponentialFailure(std::chrono::milliseconds(5), std::chrono::seconds(1000)));
  return options.limiter != nullptr ? options.limiter : *shared;
}

// What each closed queue shows. Only read, and never destroyed: calls may outlive main.
QueueState* EmptyState() {
  static auto* const empty = new QueueState(0, {}, nullptr);
  return empty;
}

}  // namespace

Queue::Queue(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}
Queue::~Queue() = default;

// --- Opening ---

Queue::Impl::Impl(std::string queue_name, storage::QueueId queue_id,
                  const QueueOptions& queue_options, Clock* store_clock, Journal* store_journal,
                  Timer* store_timer, const std::shared_ptr<MetricsProvider>& provider,
                  const Fence* store_fence)
    : name(std::move(queue_name)),
      id(queue_id),
      options(queue_options),
      sharded(queue_options.shards > 0),
      limiter(LimiterOf(queue_options)),
      clock(store_clock),
      journal(store_journal),
      timer(store_timer),
      fence(store_fence),
      own_state(std::make_unique<QueueState>(
          queue_id, queue_options, store_journal == nullptr ? nullptr : &batch, &places_seen)),
      state(own_state.get()),
      shards(sharded ? std::make_unique<ShardTable>(queue_options.shards) : nullptr),
      metrics(QueueMetrics::Make(provider, name, queue_options)) {}

Status Queue::Impl::Restore(const storage::Reader& reader) {
  const Time now = clock->Now();
  std::string limiter_state;
  std::vector<storage::SourceId> removed_sources;
  Effects effects;
  {
    const MutexLock lock(mu);
    if (Status s = RestoreQueue(reader, id, now, state); !s.ok()) {
      return Status(s.code(), "queue '" + name + "': " + s.message());
    }
    limiter_state = state->limiter_state();
    removed_sources = state->removed_sources();
    if (WQ_MUTANT(recovery_in_two_writes)) {
      storage::MutationBatch rows;
      state->AppendImage(&rows);
      storage::MutationBatch erases;
      rows.ForEach([&erases](const auto& row) { erases.Erase(row.family, row.key); });
      batch.Append(erases);
      static_cast<void>(
          journal->Wait(EndTransition(0, Durability::kAsync).position, Durability::kProcess));
      state->AppendImage(&batch);
    }
    effects = EndTransition(0, Durability::kProcess);
  }
  if (!limiter_state.empty()) {
    limiter->RestoreState(limiter_state, now);
  }
  // The timer gets the queue only once it is open: after a failed write the queue is destroyed.
  const int64_t arm_us = std::exchange(effects.arm_us, Timer::kNever);
  effects.ready = false;  // No caller has the queue yet.
  Status status = EndCall(std::move(effects), Durability::kProcess);
  if (status.ok() && arm_us != Timer::kNever) {
    timer->Arm(this, arm_us);
  }
  for (const storage::SourceId source : removed_sources) {
    static_cast<void>(EraseRowsOf(source));  // What is left the next recovery finds.
  }
  return status;
}

void Queue::Impl::FreeKeys() {
  timer->Disarm(this);
  std::unique_ptr<QueueState> freed;  // Many keys: not under mu.
  std::unique_ptr<HistoryBuffer> freed_history;
  {
    const MutexLock lock(mu);
    freed_undrained = !Drained();
    state = EmptyState();
    freed = std::move(own_state);
    freed_history = std::move(history);
    times = ProcessingTimes();
    batch = storage::MutationBatch();
    getters.FreeMemory();
    adders.FreeMemory();
  }
}

void Queue::Impl::AppendImage(storage::MutationBatch* image) const {
  const MutexLock lock(mu);
  state->AppendImage(image);
}

// --- History ---

void Queue::Impl::StartHistory(std::unique_ptr<HistoryBuffer> buffer) {
  recorded = true;
  const MutexLock lock(mu);
  history = std::move(buffer);
  state->RecordTo(history.get());
}

void Queue::Impl::TakeHistory(HistoryBytes* bytes) {
  const MutexLock lock(mu);
  if (history != nullptr) {
    history->Swap(bytes);
  }
}

void Queue::Impl::NoteWorker(std::span<const HeldKey> keys, std::string_view worker) {
  const MutexLock lock(mu);
  for (const HeldKey& held : keys) {
    if (history != nullptr && state->IsProcessing(held.key)) {
      history->AppendWorker(held.key, worker);
    }
  }
}

void Queue::Impl::NoteStarted(std::span<const std::string> keys) {
  if (metrics == nullptr || !CheckProcess().ok()) {
    return;
  }
  const int64_t now_us = clock->SteadyUs();
  const MutexLock lock(mu);
  for (const std::string& key : keys) {
    times.Restart(key, now_us);
  }
}

void Queue::NoteWorker(std::span<const HeldKey> keys, std::string_view name) {
  if (impl_->recorded && !keys.empty() && impl_->CheckProcess().ok()) {
    impl_->NoteWorker(keys, name);
  }
}

// --- Both ends of a call ---

Status Queue::Impl::RefuseProcess() const {
  return Status::Locked("queue '" + name + "' belongs to process " + std::to_string(process.pid()) +
                        ", from which this one was forked");
}

Status Queue::Impl::CheckDurability(std::optional<Durability> durability) const {
  if (durability != Durability::kReplicated || journal == nullptr || fence != nullptr) {
    return {};
  }
  return Status::InvalidArgument("durability kReplicated in queue '" + name +
                                 "': the store is not replicated");
}

Status Queue::Impl::RefuseAdd() const {
  if (Fenced()) {
    return fence->Refusal();
  }
  return Status::ShuttingDown("queue '" + name + "' is " + (closed ? "closed" : "shutting down"));
}

Position Queue::Impl::AppendMutations(Durability awaited) {
  const Position position = journal->Append(batch, awaited, state->row_change());
  state->Stamp(position);
  batch.Clear();
  return position;
}

Queue::Impl::Effects Queue::Impl::EndTransition(Position covered_by, Durability awaited) noexcept {
  Effects effects;
  effects.position = AppendBatch(covered_by, awaited);
  if (metrics != nullptr) {
    effects.adds = state->adds() - std::exchange(adds_seen, state->adds());
    effects.held_adds = state->held_adds() - std::exchange(held_adds_seen, state->held_adds());
  }
  const uint64_t readied = state->readied() - std::exchange(readied_seen, state->readied());
  effects.ready = readied > 0 || (shutting_down && Empty());
  if ((sharded && readied > 0) || (shutting_down && Empty())) {
    effects.woken = getters.TakeAll();  // Which worker serves the key's shard is not known here.
  } else if (!getters.empty()) {
    effects.woken = getters.TakeFor(state->Open());
  }
  if (!adders.empty()) {
    effects.woken.Add(WakeAdders());
  }
  effects.drained = shutting_down && Drained();
  ArmTimer(&effects);
  return effects;
}

Status Queue::Impl::EndCall(Effects&& effects, Durability durability) {
  effects.woken.Notify();
  if (effects.ready) {
    listeners.Call();
  }
  if (effects.drained) {
    drain_cv.NotifyAll();
  }
  if (effects.arm_us != Timer::kNever) {
    timer->Arm(this, effects.arm_us);
  }
  if (metrics != nullptr && effects.adds > 0) {
    metrics->CountAdds(effects.adds);
  }
  if (metrics != nullptr && effects.held_adds > 0) {
    metrics->CountHeldAdds(effects.held_adds);
  }
  if (WQ_MUTANT(acknowledge_before_write)) {
    durability = Durability::kAsync;
  }
  return journal == nullptr ? Status::Ok() : journal->Wait(effects.position, durability);
}

// --- Delays ---

void Queue::Impl::FireIfDue(int64_t due_us, Effects* effects) {
  const Time now = clock->Now();
  if (due_us <= now.steady_us) {
    state->FireDue(now, kFireLimit, kFireBytes);
    *effects = EndTransition(0, Durability::kAsync);
    effects->fired = true;
  }
}

int64_t Queue::Impl::FireDue() {
  Effects effects;
  int64_t next_us = Timer::kNever;
  {
    const MutexLock lock(mu);
    FireDueStep(&effects);
    next_us = closed ? Timer::kNever : state->NextDue().value_or(Timer::kNever);
    if (effects.fired) {  // The next step is behind what other queues have due.
      next_us = std::max(next_us, clock->SteadyUs());
    }
    armed_us = next_us;
  }
  if (effects.fired) {
    EndFiring(std::move(effects));
  }
  return next_us;
}

}  // namespace wq
