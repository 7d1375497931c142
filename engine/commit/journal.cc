#include "engine/commit/journal.h"

#include <sched.h>

#include "base/check.h"
#include "base/mutant.h"
#include "engine/metrics/metrics.h"

namespace wq {
namespace {

// Counts this object while it lives.
class Counted {
 public:
  explicit Counted(std::atomic<int>* count) : count_(count) {
    count_->fetch_add(1, std::memory_order_relaxed);
  }
  ~Counted() { count_->fetch_sub(1, std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>* const count_;
};

}  // namespace

Journal::Journal(storage::Storage* storage, const Options& options)
    : storage_(storage),
      options_(options),
      recovers_(options.recover != nullptr),
      writer_([this] { WriteLoop(); }) {}

Journal::~Journal() {
  const Status ignored = Stop();  // A caller that needs the status has called Stop or Flush.
  static_cast<void>(ignored);
}

Position Journal::Append(const storage::MutationBatch& batch, Urgency urgency,
                         const RowChange& change) {
  WQ_CHECK(!batch.empty(), "an empty batch has no position");
  const MutexLock lock(mu_);
  if (imaging_) {
    open_.Append(appended_ + 1, batch, {});  // The image may have the row that is erased.
  } else if (failed_.ok() && !open_.Append(appended_ + 1, batch, change)) {
    urgent_ = urgent_ && !open_.empty();
    return appended_;
  }  // A failed journal drops the batch: nothing is written, so it must not pile up.
  urgent_ = urgent_ || (urgency == Urgency::kUrgent && !open_.empty());
  const bool wake = urgency == Urgency::kUrgent
                        ? writer_sleep_ != Sleep::kAwake
                        : urgency == Urgency::kLazy && writer_sleep_ == Sleep::kAsleep;
  if (wake) {
    writer_sleep_ = Sleep::kAwake;
    must_wake_.store(true, std::memory_order_relaxed);
  }
  if (Full()) {
    must_check_.store(true, std::memory_order_relaxed);
  }
  return ++appended_;
}

void Journal::DropOpen() {
  open_.Clear();
  urgent_ = false;
}

void Journal::WakeWriter() {
  if (must_wake_.load(std::memory_order_relaxed) && must_wake_.exchange(false)) {
    writer_cv_.NotifyOne();
  }
}

void Journal::AnnounceSlow() {
  {
    const MutexLock lock(mu_);
    announced_ = true;
    if (writer_sleep_ == Sleep::kAwake) {
      return;
    }
    writer_sleep_ = Sleep::kAwake;
  }
  writer_cv_.NotifyOne();
}

Status Journal::Wait(Position position, Durability durability) {
  WakeWriter();
  if (!must_check_.load(std::memory_order_relaxed)) {
    const std::atomic<Position>& seen =
        durability == Durability::kPower ? synced_seen_ : written_seen_;
    if (durability == Durability::kAsync || seen.load(std::memory_order_acquire) >= position) {
      return {};
    }
  }
  return WaitSlow(position, durability);
}

// Yields once if other calls wait, so that they append first: one write for all costs less than one
// write for each, and the difference is greater than the cost of the switch. A lone producer does
// not yield. Returns whether another thread has written up to `position` during it.
bool Journal::YieldToOthers(Position position, bool power) {
  if (waiting_.load(std::memory_order_relaxed) < 2) {
    return false;
  }
  sched_yield();
  const std::atomic<Position>& seen = power ? synced_seen_ : written_seen_;
  return seen.load(std::memory_order_acquire) >= position;
}

Status Journal::WaitSlow(Position position, Durability durability) {
  const bool power = durability == Durability::kPower;
  const Counted counted(&waiting_);
  if (YieldToOthers(position, power)) {
    return {};
  }
  for (bool first = true;; first = false) {
    std::shared_ptr<WaitQueue::Waiter> waiter;
    Flight flight;
    {
      const MutexLock lock(mu_);
      if ((power ? synced_ : written_) >= position) {
        return {};
      }
      // A woken follower does not return here: it is the one that has to write next.
      if (first && durability == Durability::kAsync && !Full()) {
        return failed_;
      }
      if (!failed_.ok() && !(imaging_ && Full())) {
        return failed_;
      }
      if (power && sync_wanted_ < position) {
        sync_wanted_ = position;
      }
      if (writing_ || imaging_) {
        waiter = followers_.Join(position, power);
      } else {
        flight = BeginWrite();
      }
    }
    if (waiter == nullptr) {
      return WriteInFlight(flight);
    }
    if (waiter->Await() == WaitQueue::Wake::kReached) {
      return {};
    }
  }
}

// Takes what is open, to be synced if a call waits for that.
Journal::Flight Journal::BeginWrite() {
  WQ_CHECK(!writing_, "two writes at once");
  writing_ = true;
  in_flight_.Swap(open_);
  urgent_ = false;
  return {.end = appended_, .sync = sync_wanted_ > synced_};
}

Status Journal::WriteInFlight(Flight flight) {
  const auto begun = options_.metrics == nullptr ? SteadyClock::time_point() : SteadyClock::now();
  storage::MutationBatch& batch = in_flight_.Close();
  const size_t mutations = batch.count();
  Status status;
  if (!batch.empty()) {
    status = storage_->Write(batch, flight.sync);
  } else if (flight.sync) {
    status = storage_->Sync();
  }
  const auto took =
      options_.metrics == nullptr ? SteadyClock::duration() : SteadyClock::now() - begun;
  in_flight_.Clear();
  WaitQueue::Woken woken;
  {
    const MutexLock lock(mu_);
    woken = EndWrite(status, flight.end, flight.sync);
    status = failed_;
  }
  WaitQueue::Notify(woken);
  // After EndWrite: the user's metrics may call the queues, and those may need to write.
  if (options_.metrics != nullptr) {
    options_.metrics->ObserveCommit(mutations, took);
  }
  return status;
}

WaitQueue::Woken Journal::EndWrite(const Status& status, Position end, bool sync) {
  writing_ = false;
  if (status.ok() || WQ_MUTANT(swallow_failed_write)) {
    written_ = end;
    synced_ = sync ? end : synced_;
    written_seen_.store(written_, std::memory_order_release);
    synced_seen_.store(synced_, std::memory_order_release);
  } else {
    // The outcome of this write is unknown. Another write could leave a gap before itself, and
    // another sync can report success for pages that the kernel has dropped.
    failed_ = failed_.ok() ? Status::NotDurable(status.message()) : failed_;
    DropOpen();
    writer_sleep_ = Sleep::kAwake;
    writer_cv_.NotifyOne();  // It runs the recovery.
  }
  must_check_.store(!failed_.ok() || Full(), std::memory_order_relaxed);
  done_cv_.NotifyOne();
  return failed_.ok() ? followers_.Take(written_, synced_) : followers_.TakeAll();
}

// --- The background thread ---

void Journal::WriteLoop() {
  SteadyClock::time_point due = SteadyClock::time_point::max();
  for (;;) {
    const Task task = AwaitTask(&due);
    switch (task.kind) {
      case Task::Kind::kStop:
        return;
      case Task::Kind::kRecover:
        Recover();
        break;
      case Task::Kind::kCollect:
        if (options_.collect != nullptr) {
          options_.collect();
        }
        break;
      case Task::Kind::kWrite:
        static_cast<void>(WriteInFlight(task.flight));  // A failure shows in failed_.
        break;
    }
  }
}

Journal::Task Journal::AwaitTask(SteadyClock::time_point* due) {
  constexpr auto kNever = SteadyClock::time_point::max();
  const MutexLock lock(mu_);
  while (!stopping_) {
    if (!failed_.ok()) {
      if (recovers_) {
        return {.kind = Task::Kind::kRecover};
      }
      writer_cv_.Wait(mu_);
      continue;
    }
    if (open_.empty()) {
      *due = kNever;
    } else if (*due == kNever) {
      *due = SteadyClock::now() + options_.flush_interval;
    }
    const bool in_time = *due == kNever || SteadyClock::now() < *due;
    if (announced_ && !urgent_ && in_time) {  // What is urgent or overdue is written first.
      announced_ = false;  // Before the collect, which may miss what is announced from now on.
      return {.kind = Task::Kind::kCollect};
    }
    if (open_.empty()) {
      writer_sleep_ = Sleep::kAsleep;
      writer_cv_.Wait(mu_);
      writer_sleep_ = Sleep::kAwake;
      continue;
    }
    if (in_time && Doze(*due) && announced_ && !urgent_) {
      continue;  // The collect is first, so that one write has both.
    }
    while (writing_) {
      done_cv_.Wait(mu_);
    }
    *due = kNever;
    if (!open_.empty() && failed_.ok()) {
      return {.kind = Task::Kind::kWrite, .flight = BeginWrite()};
    }
  }
  return {.kind = Task::Kind::kStop};
}

bool Journal::Doze(SteadyClock::time_point due) {
  bool in_time = true;
  while (!urgent_ && !announced_ && !stopping_ && failed_.ok() && in_time) {
    writer_sleep_ = Sleep::kDozing;
    in_time = writer_cv_.WaitUntil(mu_, due);
  }
  writer_sleep_ = Sleep::kAwake;
  return in_time;
}

void Journal::Recover() {
  const bool again = options_.recover();
  const MutexLock lock(mu_);
  recovers_ = again;
}

// --- Recovery ---

void Journal::BeginImage() {
  const MutexLock lock(mu_);
  WQ_CHECK(!failed_.ok() && !imaging_ && !writing_, "an image is for a failed journal");
  imaging_ = true;
}

Status Journal::WriteImage(storage::MutationBatch* image) {
  Position end = 0;
  WaitQueue::Woken woken;
  {
    const MutexLock lock(mu_);
    WQ_CHECK(imaging_, "an image that was not begun");
    image->Append(open_.Close());
    DropOpen();
    end = appended_;
    woken = followers_.TakeAll();  // open_ has room again.
  }
  WaitQueue::Notify(woken);
  Status status = image->empty() ? storage_->Sync() : storage_->Write(*image, /*sync=*/true);
  {
    const MutexLock lock(mu_);
    imaging_ = false;
    if (status.ok()) {
      failed_ = Status::Ok();
    }
    woken = EndWrite(status, end, /*sync=*/true);
  }
  WaitQueue::Notify(woken);
  return status;
}

void Journal::DropImage() {
  WaitQueue::Woken woken;
  {
    const MutexLock lock(mu_);
    WQ_CHECK(imaging_, "an image that was not begun");
    imaging_ = false;
    DropOpen();
    woken = followers_.TakeAll();
  }
  WaitQueue::Notify(woken);
}

Status Journal::Flush(Durability durability) {
  Position end = 0;
  {
    const MutexLock lock(mu_);
    end = appended_;
  }
  // At kAsync it would wait for nothing.
  return Wait(end, durability == Durability::kAsync ? Durability::kProcess : durability);
}

Status Journal::Health() const {
  const MutexLock lock(mu_);
  return failed_;
}

Status Journal::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  writer_cv_.NotifyOne();
  if (writer_.joinable()) {
    writer_.join();
  }
  return Flush(Durability::kPower);
}

}  // namespace wq
