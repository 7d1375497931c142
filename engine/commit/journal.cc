#include "engine/commit/journal.h"

#include <sched.h>

#include "base/check.h"
#include "base/mutant.h"
#include "engine/metrics/metrics.h"

namespace wq {
namespace {

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
  const Status ignored = Stop();  // Whoever cares has called Stop, or Flush.
  static_cast<void>(ignored);
}

Position Journal::Append(const storage::MutationBatch& batch, Urgency urgency,
                         const RowChange& change) {
  WQ_CHECK(!batch.empty(), "an empty batch has no position");
  const MutexLock lock(mu_);
  if (imaging_) {
    open_.Append(appended_ + 1, batch, {});  // The image may have the row that goes.
  } else if (failed_.ok() && !open_.Append(appended_ + 1, batch, change)) {
    urgent_ = urgent_ && !open_.empty();
    return appended_;
  }  // Otherwise nothing is written, and must not pile up.
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

// Lets other threads append first, if there are any: one write for all is cheaper than one for each, by
// more than it costs to give the processor away. A lone producer waits for nobody.
// Returns whether one of them has written this one's batch, too.
bool Journal::GatheredMeanwhile(Position position, bool power) {
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
  if (GatheredMeanwhile(position, power)) {
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
      // Who was called to look again has to write if nobody does: only he was called.
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
        waiter = wait_queue_.Join(position, power);
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

// Takes what is open; it is to be synced if somebody waits for that.
Journal::Flight Journal::BeginWrite() {
  WQ_CHECK(!writing_, "two writes at once");
  writing_ = true;
  in_flight_.Swap(open_);
  urgent_ = false;
  return {.end = appended_, .sync = sync_wanted_ > synced_};
}

Status Journal::WriteInFlight(Flight flight) {
  using SteadyClock = std::chrono::steady_clock;
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
  if (options_.metrics !=
      nullptr) {  // Not earlier: whoever collects may call the queues, and those may write.
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
    // The outcome of this write is unknown. Going on to write could leave a hole before what comes
    // later, and syncing again can report success for pages that the kernel has dropped.
    failed_ = failed_.ok() ? Status::NotDurable(status.message()) : failed_;
    DropOpen();
    writer_sleep_ = Sleep::kAwake;
    writer_cv_.NotifyOne();  // It mends.
  }
  must_check_.store(!failed_.ok() || Full(), std::memory_order_relaxed);
  done_cv_.NotifyOne();
  return failed_.ok() ? wait_queue_.Take(written_, synced_) : wait_queue_.TakeAll();
}

void Journal::WriteLoop() {
  using SteadyClock = std::chrono::steady_clock;
  constexpr auto kNever = SteadyClock::time_point::max();
  const MutexLock lock(mu_);
  auto due = kNever;  // For the oldest that is open, however lazy.
  while (!stopping_) {
    if (!failed_.ok()) {
      AwaitRecovery();
      continue;
    }
    if (open_.empty()) {
      due = kNever;
    } else if (due == kNever) {
      due = SteadyClock::now() + options_.flush_interval;
    }
    bool in_time = due == kNever || SteadyClock::now() < due;
    if (announced_ && !urgent_ && in_time) {  // What is urgent or overdue is not to wait for more.
      Collect();
      continue;
    }
    if (open_.empty()) {
      writer_sleep_ = Sleep::kAsleep;
      writer_cv_.Wait(mu_);
      continue;
    }
    while (!urgent_ && !announced_ && !stopping_ && failed_.ok() && in_time) {
      writer_sleep_ = Sleep::kDozing;
      in_time = writer_cv_.WaitUntil(mu_, due);
    }
    writer_sleep_ = Sleep::kAwake;
    if (announced_ && !urgent_ && in_time) {
      continue;  // Both in one write.
    }
    while (writing_) {
      done_cv_.Wait(mu_);
    }
    if (!open_.empty() && failed_.ok()) {
      const Flight flight = BeginWrite();
      mu_.Unlock();
      static_cast<void>(WriteInFlight(flight));  // A failure shows in failed_.
      mu_.Lock();
    }
    due = kNever;
  }
  writer_sleep_ = Sleep::kAwake;
}

void Journal::Collect() {
  announced_ = false;  // Before: what is announced from now on may come too late for this collect.
  mu_.Unlock();
  if (options_.collect != nullptr) {
    options_.collect();
  }
  mu_.Lock();
}

// --- Mending ---

// On the background thread, which has nothing to write while the journal is failed.
void Journal::AwaitRecovery() {
  if (!recovers_) {
    writer_cv_.Wait(mu_);
    return;
  }
  mu_.Unlock();
  const bool again = options_.recover();
  mu_.Lock();
  recovers_ = again;
}

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
    // Behind the image: what changed while it was made.
    image->Append(open_.Close());
    DropOpen();
    end = appended_;
    woken = wait_queue_.TakeAll();  // There is room again.
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
    woken = wait_queue_.TakeAll();
  }
  WaitQueue::Notify(woken);
}

Status Journal::Flush(Durability durability) {
  Position end = 0;
  {
    const MutexLock lock(mu_);
    end = appended_;
  }
  // An asynchronous flush would be no barrier at all.
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
