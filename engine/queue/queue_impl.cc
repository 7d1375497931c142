#include "engine/queue/queue_impl.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "engine/recovery/recovery.h"
#include "wq/keys.h"
#include "wq/limiter.h"

namespace wq {
namespace {

constexpr size_t kFireLimit = 256;

std::shared_ptr<Limiter> LimiterOf(const QueueOptions& options) {
  return options.limiter != nullptr ? options.limiter
                                    : std::make_shared<ItemExponentialFailure>(
                                          std::chrono::milliseconds(5), std::chrono::seconds(1000));
}

}  // namespace

Queue::Impl::Impl(std::string queue_name, storage::QueueId queue_id,
                  const QueueOptions& queue_options, Clock* store_clock, Journal* store_journal,
                  Timer* store_timer, const std::shared_ptr<MetricsProvider>& provider)
    : name(std::move(queue_name)),
      id(queue_id),
      options(queue_options),
      sharded(queue_options.shards > 0),
      limiter(LimiterOf(queue_options)),
      clock(store_clock),
      journal(store_journal),
      timer(store_timer),
      state(queue_id, queue_options, store_journal == nullptr ? nullptr : &batch),
      shards(queue_options.shards),
      metrics(QueueMetrics::Make(provider, name, queue_options)) {}

Status Queue::Impl::Restore(const storage::Reader& reader) {
  Effects effects;
  {
    const MutexLock lock(mu);  // Nobody else has the queue yet.
    const Time now = clock->Now();
    if (Status s = RestoreQueue(reader, id, now, &state); !s.ok()) {
      return Status(s.code(), "queue '" + name + "': " + s.message());
    }
    if (!state.limiter_state().empty()) {
      limiter->RestoreState(state.limiter_state(), now);
    }
    if (WQ_MUTANT(recovery_in_two_writes)) {
      storage::MutationBatch rows;
      state.AppendImage(&rows);
      storage::MutationBatch erases;
      rows.ForEach([&erases](const auto& row) { erases.Erase(row.family, row.key); });
      batch.Append(erases);
      static_cast<void>(
          journal->Wait(Finish(0, Journal::Urgency::kLazy).position, Durability::kProcess));
      state.AppendImage(&batch);
    }
    effects = Finish(0, Journal::Urgency::kLazy);
  }
  return Settle(effects, Durability::kProcess);
}

void Queue::Impl::AppendImage(storage::MutationBatch* image) const {
  const MutexLock lock(mu);
  state.AppendImage(image);
}

// --- The two ends of a call ---

Status Queue::Impl::RefuseProcess() const {
  return Status::Locked("queue '" + name + "' belongs to process " + std::to_string(process.pid()) +
                        ", from which this one was forked");
}

Status Queue::Impl::CheckKey(std::string_view key) const {
  if (key.empty()) {
    return Status::InvalidArgument("the key is empty");
  }
  if (key.size() > options.max_key_bytes) {
    return Status::InvalidArgument(
        "the key is " + std::to_string(key.size()) + " bytes long, the limit is " +
        std::to_string(options.max_key_bytes) + ": '" + EscapeKey(key, 64) + "'");
  }
  return {};
}

Status Queue::Impl::CheckAdd(const AddOptions& add) const {
  if (add.lane.has_value() && !state.HasLane(*add.lane)) {
    return Status::InvalidArgument("queue '" + name + "' has no lane " + LaneName(*add.lane));
  }
  if (add.group.has_value() && add.group->size() > kMaxGroupBytes) {
    return Status::InvalidArgument("the group is " + std::to_string(add.group->size()) +
                                   " bytes long, the limit is " + std::to_string(kMaxGroupBytes) +
                                   ": '" + EscapeKey(*add.group, 64) + "'");
  }
  return {};
}

std::string Queue::Impl::GroupOf(std::string_view key, const AddOptions& add) const {
  if (add.group.has_value()) {
    return std::string(*add.group);
  }
  return options.group_of == nullptr ? std::string()
                                     : options.group_of(key).substr(0, kMaxGroupBytes);
}

Status Queue::Impl::NeedsAWorker() const {
  return Status::InvalidArgument("queue '" + name + "' has shards: its keys go to workers (Join)");
}

Status Queue::Impl::RefuseAdd() const {
  return Status::ShuttingDown("queue '" + name + "' is " + (closed ? "closed" : "shutting down"));
}

Queue::Impl::Effects Queue::Impl::Finish(Position standing, Journal::Urgency urgency) {
  Effects effects;
  effects.position = standing;
  if (!batch.empty()) {
    effects.position = journal->Append(batch, urgency, state.row_change());
    state.Stamp(effects.position);
    batch.Clear();
  }
  effects.adds = state.adds() - std::exchange(adds_seen, state.adds());
  const uint64_t readied = state.readied() - std::exchange(readied_seen, state.readied());
  effects.ready = readied > 0 || (shutting_down && Empty());
  if ((sharded && readied > 0) || (shutting_down && Empty())) {
    effects.woken = getters.TakeAll();  // Whom it concerns only they know.
  } else if (readied > 0) {
    effects.woken = getters.Take(readied);
  }
  if (!effects.woken.empty()) {
    OpenInbox();  // Those who were woken will look.
  }
  effects.drained = shutting_down && Drained();
  if (const std::optional<int64_t> due_us = state.NextDue();
      due_us.has_value() && *due_us < armed_us && !shutting_down) {
    armed_us = *due_us;
    effects.arm_us = *due_us;
  }
  return effects;
}

Status Queue::Impl::Settle(const Effects& effects, Durability durability) {
  GetterQueue::Notify(effects.woken);
  if (effects.ready) {
    TellReady();
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
  if (WQ_MUTANT(acknowledge_before_write)) {
    durability = Durability::kAsync;
  }
  return journal == nullptr ? Status::Ok() : journal->Wait(effects.position, durability);
}

// --- Handing out ---

Queue::Impl::Deadline Queue::Impl::After(std::chrono::microseconds timeout) {
  // A century is as good as for ever, and cannot overflow.
  return std::chrono::steady_clock::now() +
         std::clamp(timeout, std::chrono::microseconds(0), kMaxDelay);
}

const Item* Queue::Impl::NextItem(uint64_t worker) {
  if (!sharded) {
    return state.Get(0);
  }
  const std::vector<uint32_t>& own = shards.Shards(worker);
  ++turn;
  for (size_t i = 0; i < own.size(); ++i) {
    if (const Item* item = state.Get(own[(turn + i) % own.size()]); item != nullptr) {
      return item;
    }
  }
  return nullptr;
}

Status Queue::Impl::Take(uint64_t worker, Deadline deadline, std::string* key) {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  Effects effects;
  Status status;
  int64_t queued_us = 0;
  {
    const Lock lock(*this);
    bool inbox_is_shut = false;  // By this call, and not opened by others: mu was held since.
    for (bool in_time = true;;) {
      if (stopped) {
        status = Status::ShuttingDown("queue '" + name + "' is stopped");
        break;
      }
      effects = Promote();
      if (const Item* item = NextItem(worker); item != nullptr) {
        *key = item->key();
        if (metrics != nullptr) {
          const Time now = clock->Now();
          queued_us = now.wall_us - item->added_at_us;
          times.Begin(*key, now.steady_us);
        }
        if (shutting_down && Empty()) {
          effects.woken = getters.TakeAll();  // Workers of other shards wait for this.
          effects.ready = true;
        }
        break;
      }
      if (shutting_down && Empty()) {
        status = Status::ShuttingDown("queue '" + name + "' is shut down and empty");
        break;
      }
      if (!in_time) {
        status = Status::TimedOut("no key in time");
        break;
      }
      if (effects.fired || (journal != nullptr && journal->MustWakeWriter())) {
        OpenInbox();
        inbox_is_shut = false;
        mu.Unlock();  // What was fired is for other workers, who may be waiting already.
        const Status ignored = Settle(std::exchange(effects, {}), Durability::kAsync);
        static_cast<void>(ignored);  // As below.
        mu.Lock();
        MakeAdds();
        continue;
      }
      if (!std::exchange(inbox_is_shut, true)) {
        ShutInbox();  // It may have had a key.
        continue;
      }
      in_time = getters.Wait(mu, deadline);
      inbox_is_shut = false;
      OpenInbox();
      MakeAdds();
    }
    if (inbox_is_shut) {
      OpenInbox();
    }
  }
  if (metrics != nullptr && status.ok()) {
    metrics->ObserveQueued(queued_us);
  }
  // What was fired stands on disk as delayed until it is written: nothing to report here.
  const Status ignored = Settle(effects, Durability::kAsync);
  static_cast<void>(ignored);
  return status;
}

Queue::Impl::Effects Queue::Impl::Promote() {
  if (shutting_down) {
    return {};
  }
  const std::optional<int64_t> due_us = state.NextDue();
  if (!due_us.has_value()) {
    return {};
  }
  const Time now = clock->Now();
  if (*due_us > now.steady_us) {
    return {};
  }
  const size_t fired = state.FireDue(now, kFireLimit);
  // When very many are due the journal's thread is to write the one part while the next one is fired.
  Effects effects =
      Finish(0, fired < kFireLimit ? Journal::Urgency::kLazy : Journal::Urgency::kUrgent);
  effects.fired = true;
  return effects;
}

void Queue::Impl::PromoteAll() {
  for (bool more = true; more;) {
    Effects effects;
    {
      const Lock lock(*this);
      effects = Promote();
      more = effects.fired;
    }
    const Status ignored = Settle(effects, Durability::kAsync);  // As in Take.
    static_cast<void>(ignored);
  }
}

int64_t Queue::Impl::FireDue() {
  PromoteAll();
  const MutexLock lock(mu);
  // What this returns is what the timer knows of from now on.
  armed_us = shutting_down ? Timer::kNever : state.NextDue().value_or(Timer::kNever);
  return armed_us;
}

// --- Shutting down ---

uint64_t Queue::Impl::BeginShutDown(bool stop_now) {
  uint64_t release = 0;
  {
    const Lock lock(*this);
    ShutInbox();
    shutting_down = true;
    stopped = stopped || stop_now;
    release = ++drain_release;
  }
  WakeAll();
  drain_cv.NotifyAll();
  return release;
}

void Queue::Impl::WakeAll() {
  GetterQueue::Woken woken;
  {
    const MutexLock lock(mu);
    woken = getters.TakeAll();
  }
  GetterQueue::Notify(woken);
  TellReady();
}

void Queue::Impl::Close() {
  BeginShutDown(true);
  const MutexLock lock(mu);
  closed = true;
}

// --- Metrics ---

void Queue::Impl::ShowGauges() {
  if (metrics != nullptr) {
    metrics->Show([this] { return ReadGauges(); });
  }
}

void Queue::Impl::HideGauges() {
  if (metrics != nullptr) {
    metrics->Hide();
  }
}

// Fires nothing, unlike other readings: that may have to wait for the disk, and nobody who watches
// a sick store should. The timer is a moment late at most.
QueueReading Queue::Impl::ReadGauges() const {
  const Time now = clock->Now();
  const MutexLock lock(mu);
  const int64_t oldest_us = state.OldestAddedAtUs().value_or(now.wall_us);
  return {.counts = state.Counts(),
          .unfinished_us = times.SumUs(now.steady_us),
          .longest_us = times.LongestUs(now.steady_us),
          .oldest_us = std::max<int64_t>(0, now.wall_us - oldest_us)};
}

}  // namespace wq
