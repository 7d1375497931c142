#include "engine/queue_rep.h"

#include <algorithm>
#include <utility>

#include "engine/recovery.h"
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

Queue::Rep::Rep(std::string queue_name, storage::QueueId queue_id,
                const QueueOptions& queue_options, Clock* store_clock, Journal* store_journal,
                Timer* store_timer)
    : name(std::move(queue_name)),
      id(queue_id),
      options(queue_options),
      limiter(LimiterOf(queue_options)),
      clock(store_clock),
      journal(store_journal),
      timer(store_timer),
      state({.id = queue_id,
             .order = queue_options.order,
             .add_cancels_delay = queue_options.add_cancels_delay},
            store_journal == nullptr ? nullptr : &batch) {}

Status Queue::Rep::Restore(const storage::Reader& reader) {
  Effects effects;
  {
    const MutexLock lock(mu);  // Nobody else has the queue yet.
    if (Status s = Recover(reader, id, clock->Now(), &state); !s.ok()) {
      return Status(s.code(), "queue '" + name + "': " + s.message());
    }
    effects = Finish(0, Journal::Urgency::kLazy);
  }
  return Settle(effects, Durability::kProcess);
}

// --- The two ends of a call ---

Status Queue::Rep::CheckKey(std::string_view key) const {
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

Status Queue::Rep::CheckLane(const AddOptions& add) const {
  if (add.lane.has_value() && !state.HasLane(*add.lane)) {
    return Status::InvalidArgument("queue '" + name + "' has no lane " + LaneName(*add.lane));
  }
  return {};
}

Status Queue::Rep::RefuseAdd() const {
  return Status::ShuttingDown("queue '" + name + "' is " + (closed ? "closed" : "shutting down"));
}

Queue::Rep::Effects Queue::Rep::Finish(Position standing, Journal::Urgency urgency) {
  Effects effects;
  effects.position = standing;
  if (!batch.empty()) {
    effects.position = journal->Append(batch, urgency);
    state.Stamp(effects.position);
    batch.Clear();
  }
  const uint64_t pushed = state.pushes() - std::exchange(pushes_seen, state.pushes());
  effects.wakes = std::min<uint64_t>(getters, pushed);
  if (const std::optional<int64_t> due_us = state.NextDue();
      due_us.has_value() && *due_us < armed_us && !shutting_down) {
    armed_us = *due_us;
    effects.arm_us = *due_us;
  }
  return effects;
}

Status Queue::Rep::Settle(const Effects& effects, Durability durability) {
  for (size_t i = 0; i < effects.wakes; ++i) {
    ready_cv.NotifyOne();
  }
  if (effects.arm_us != Timer::kNever) {
    timer->Arm(this, effects.arm_us);
  }
  return journal == nullptr ? Status::Ok() : journal->Wait(effects.position, durability);
}

// --- Handing out ---

Status Queue::Rep::Take(std::optional<std::chrono::steady_clock::time_point> deadline,
                        std::string* key) {
  Effects effects;
  Status status;
  {
    const MutexLock lock(mu);
    for (bool in_time = true;;) {
      if (stopped) {
        status = Status::ShuttingDown("queue '" + name + "' is stopped");
        break;
      }
      effects = Promote();
      if (const Item* item = state.Get(); item != nullptr) {
        *key = item->key();
        break;
      }
      if (shutting_down) {
        status = Status::ShuttingDown("queue '" + name + "' is shut down and empty");
        break;
      }
      if (!in_time) {
        status = Status::TimedOut("no key in time");
        break;
      }
      ++getters;
      if (deadline.has_value()) {
        in_time = ready_cv.WaitUntil(mu, *deadline);
      } else {
        ready_cv.Wait(mu);
      }
      --getters;
    }
  }
  // What was fired stands on disk as delayed until it is written: nothing to report here.
  const Status ignored = Settle(effects, Durability::kAsync);
  static_cast<void>(ignored);
  return status;
}

Queue::Rep::Effects Queue::Rep::Promote() {
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
  state.FireDue(now, kFireLimit);
  Effects effects = Finish(0, Journal::Urgency::kLazy);
  effects.fired = true;
  return effects;
}

void Queue::Rep::PromoteAll() {
  for (bool more = true; more;) {
    Effects effects;
    {
      const MutexLock lock(mu);
      effects = Promote();
      more = effects.fired;
    }
    const Status ignored = Settle(effects, Durability::kAsync);  // As in Take.
    static_cast<void>(ignored);
  }
}

int64_t Queue::Rep::FireDue() {
  PromoteAll();
  const MutexLock lock(mu);
  // What this returns is what the timer knows of from now on.
  armed_us = shutting_down ? Timer::kNever : state.NextDue().value_or(Timer::kNever);
  return armed_us;
}

// --- Shutting down ---

uint64_t Queue::Rep::BeginShutDown(bool stop_now) {
  uint64_t release = 0;
  {
    const MutexLock lock(mu);
    shutting_down = true;
    stopped = stopped || stop_now;
    release = ++drain_release;
  }
  ready_cv.NotifyAll();
  drain_cv.NotifyAll();
  return release;
}

void Queue::Rep::Close() {
  BeginShutDown(true);
  const MutexLock lock(mu);
  closed = true;
}

}  // namespace wq
