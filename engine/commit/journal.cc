#include "engine/commit/journal.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "engine/commit/bounded_wait.h"
#include "engine/metrics/metrics.h"
#include "storage/records.h"

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

// What a call at this durability waits for.
Reached WantedBy(Durability durability) {
  switch (durability) {
    case Durability::kAsync:
    case Durability::kProcess:
      return Reached::kWritten;
    case Durability::kPower:
      return Reached::kSynced;
    case Durability::kReplicated:
      return Reached::kStored;
  }
  return Reached::kSynced;
}

}  // namespace

Journal::Journal(storage::Storage* storage, const Options& options)
    : storage_(storage),
      options_(options),
      log_(storage->process_log()),
      open_(log_),
      in_flight_(log_),
      recovers_(options.recover != nullptr),
      writer_([this] { WriteLoop(); }) {}

Journal::~Journal() {
  const Status ignored = Stop();  // A caller that needs the status has called Stop or Flush.
  static_cast<void>(ignored);
}

Position Journal::Append(const storage::MutationBatch& batch, Durability awaited,
                         const RowChange& change) noexcept {
  WQ_CHECK(!batch.empty(), "an empty batch has no position");
  const MutexLock lock(mu_);
  ++appended_;
  // A failed journal drops the batch: nothing is written, so it must not pile up.
  const bool logged = failed_.ok() && AppendToLog(batch, change);
  if (logged) {
    SetEnd(Reached::kWritten, appended_);
  } else if (failed_.ok() || imaging_) {
    open_.Append(appended_, batch);
    log_lacks_some_ = log_ != nullptr;
  }
  if (!failed_.ok()) {
    kept_.Keep(batch);
  }
  const bool lazy = awaited == Durability::kAsync || (awaited == Durability::kProcess && logged);
  const bool wake = (writer_sleep_ == Sleep::kAsleep && lazy && !open_.empty()) ||
                    (writer_sleep_ != Sleep::kAwake && Hurried());
  if (wake) {
    writer_sleep_ = Sleep::kAwake;
    must_wake_.store(true, std::memory_order_relaxed);
  }
  if (Full()) {
    must_check_.store(true, std::memory_order_relaxed);
  }
  return appended_;
}

// Once a batch is not in the log, the later ones must not be: after a kill they would be behind a
// gap. The log is used again after the next write: see EndWrite.
bool Journal::AppendToLog(const storage::MutationBatch& batch, const RowChange& change) {
  if (log_ == nullptr || log_lacks_some_) {
    return false;
  }
  const storage::LogPosition begin = log_->end();
  if (!log_->Append(batch.mutations())) {
    return false;
  }
  open_.AppendLogged(appended_, batch, begin, change);
  return true;
}

void Journal::WakeWriter() {
  if (must_wake_.load(std::memory_order_relaxed) && must_wake_.exchange(false)) {
    writer_cv_.NotifyOne();
  }
}

Status Journal::Wait(Position position, Durability durability) noexcept {
  WakeWriter();
  if (!must_check_.load(std::memory_order_relaxed)) {
    if (durability == Durability::kAsync || Seen(WantedBy(durability)) >= position) {
      return {};
    }
  }
  return WaitSlow(position, durability);
}

// Yields once if other calls wait, so that they append first: one write for all costs less than one
// write for each, and the difference is greater than the cost of the switch. A lone producer does
// not yield. Returns whether another thread has written up to `position` during it.
bool Journal::YieldToOthers(Position position, Reached wanted) {
  if (waiting_.load(std::memory_order_relaxed) < 2) {
    return false;
  }
  sched_yield();
  return Seen(wanted) >= position;
}

Status Journal::WaitSlow(Position position, Durability durability) {
  const Reached wanted = WantedBy(durability);
  const Counted counted(&waiting_);
  // (A full journal delays even a call that has nothing else to wait for.)
  if (YieldToOthers(position, wanted) && !must_check_.load(std::memory_order_relaxed)) {
    return {};
  }
  for (bool first = true;; first = false) {
    std::shared_ptr<WaitQueue::Waiter> waiter;
    Flight flight;
    {
      const MutexLock lock(mu_);
      // A full journal delays even a call whose batch is in the process log, by one write.
      if (End(wanted) >= position && !(first && failed_.ok() && Full())) {
        return {};
      }
      // A woken follower does not return here: it is the one that has to write next.
      if (first && durability == Durability::kAsync && !Full()) {
        return failed_;
      }
      if (!failed_.ok() && !(imaging_ && Full())) {
        return failed_;
      }
      if (wanted == Reached::kSynced && sync_wanted_ < position) {
        sync_wanted_ = position;
      }
      if (writing_ || imaging_) {
        waiter = followers_.Join(position, wanted);
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

Journal::Flight Journal::NextFlight() const {
  Flight flight{.end = appended_, .sync = sync_wanted_ > End(Reached::kSynced)};
  if (log_ != nullptr) {
    flight.log_end = log_->end();
    flight.covers_log = log_->Used() > 0;
  }
  return flight;
}

// Takes what is open, to be synced if a call waits for that.
Journal::Flight Journal::BeginWrite() {
  WQ_CHECK(!writing_, "two writes at once");
  writing_ = true;
  in_flight_.Swap(open_);
  const Flight flight = NextFlight();
  if (log_ != nullptr && WQ_MUTANT(log_released_early)) log_->Release(flight.log_end);
  return flight;
}

// Adds to the batch how far it comes in the process log.
void Journal::CoverLog(const Flight& flight, storage::MutationBatch* batch) const {
  if (flight.covers_log && !WQ_MUTANT(log_position_not_written)) {
    storage::PutProcessLog({.number = log_->number(), .position = flight.log_end}, batch);
  }
}

Status Journal::WriteInFlight(Flight flight) {
  const auto begun = options_.metrics == nullptr ? SteadyClock::time_point() : SteadyClock::now();
  storage::MutationBatch& batch = in_flight_.Close();
  const size_t mutations = batch.count();
  // Even if all of its rows were cancelled: after a power cut the log may have a put without its
  // erase.
  CoverLog(flight, &batch);
  Status status;
  if (!batch.empty()) {
    status = storage_->Write(batch, flight.sync);
  } else if (flight.sync) {
    status = storage_->Sync();
  }
  const auto took =
      options_.metrics == nullptr ? SteadyClock::duration() : SteadyClock::now() - begun;
  WaitQueue::Woken woken;
  {
    const MutexLock lock(mu_);
    if (!status.ok()) {
      kept_.Keep(batch);
    }
    in_flight_.Clear();
    woken = EndWrite(status, flight);
    status = failed_;
  }
  WaitQueue::Notify(woken);
  // After EndWrite: the user's metrics may call the queues, and those may need to write.
  if (options_.metrics != nullptr) {
    options_.metrics->ObserveCommit(mutations, took);
  }
  return status;
}

WaitQueue::Woken Journal::EndWrite(const Status& status, const Flight& flight) {
  writing_ = false;
  if (status.ok() || WQ_MUTANT(swallow_failed_write)) {
    SetEnd(Reached::kStored, flight.end);
    if (flight.sync) {
      SetEnd(Reached::kSynced, flight.end);
    }
    Position written = std::max(End(Reached::kWritten), flight.end);
    if (log_ != nullptr) {
      log_->Release(flight.log_end);
      if (log_lacks_some_) {
        written = std::max(written, open_.MoveToLog(log_));
        log_lacks_some_ = !open_.all_logged();
      }
    }
    SetEnd(Reached::kWritten, written);
  } else {
    // The outcome of this write is unknown. Another write could leave a gap before itself, and
    // another sync can report success for pages that the kernel has dropped.
    // The end of an ownership is final: another process has the store now.
    const bool ended = status.code() == StatusCode::kNotOwner;
    if (failed_.ok() || ended) {
      failed_ = ended ? status : Status::NotDurable(status.message());
    }
    recovers_ = recovers_ && !ended;
    kept_.Keep(open_.Close());
    open_.Clear();
    writer_sleep_ = Sleep::kAwake;
    writer_cv_.NotifyOne();  // It runs the recovery.
  }
  must_check_.store(!failed_.ok() || Full(), std::memory_order_relaxed);
  done_cv_.NotifyOne();
  return failed_.ok() ? followers_.Take(ends_) : followers_.TakeAll();
}

void Journal::SetEnd(Reached reached, Position end) {
  ends_[static_cast<size_t>(reached)] = end;
  ends_seen_[static_cast<size_t>(reached)].store(end, std::memory_order_release);
}

// --- The background thread ---

void Journal::WriteLoop() {
  for (;;) {
    const Task task = AwaitTask();
    switch (task.kind) {
      case Task::Kind::kStop:
        return;
      case Task::Kind::kRecover:
        Recover();
        break;
      case Task::Kind::kWrite:
        static_cast<void>(WriteInFlight(task.flight));  // A failure shows in failed_.
        break;
    }
  }
}

Journal::Task Journal::AwaitTask() {
  const MutexLock lock(mu_);
  for (bool doze = true; !stopping_;) {
    if (!failed_.ok()) {
      if (recovers_) {
        return {.kind = Task::Kind::kRecover};
      }
      writer_cv_.Wait(mu_);
    } else if (std::exchange(doze, false)) {
      Doze();
    } else if (open_.empty() && !Hurried()) {
      writer_sleep_ = Sleep::kAsleep;
      writer_cv_.Wait(mu_);
      writer_sleep_ = Sleep::kAwake;
      doze = true;
    } else if (writing_) {
      done_cv_.Wait(mu_);
    } else {
      return {.kind = Task::Kind::kWrite, .flight = BeginWrite()};
    }
  }
  return {.kind = Task::Kind::kStop};
}

void Journal::Doze() {
  const auto until = SteadyClock::now() + BoundedWait(options_.flush_interval);
  bool in_time = true;
  while (!Hurried() && !stopping_ && failed_.ok() && in_time) {
    writer_sleep_ = Sleep::kDozing;
    in_time = writer_cv_.WaitUntil(mu_, until);
  }
  writer_sleep_ = Sleep::kAwake;
}

void Journal::Recover() {
  const bool again = options_.recover();
  const MutexLock lock(mu_);
  recovers_ = recovers_ && again;  // An ownership may have ended since: see EndWrite.
}

// --- Recovery ---

void Journal::BeginImage() {
  const MutexLock lock(mu_);
  WQ_CHECK(!failed_.ok() && !imaging_ && !writing_, "an image is for a failed journal");
  imaging_ = true;
}

Status Journal::WriteImage(storage::MutationBatch* image) {
  Flight flight;
  WaitQueue::Woken woken;
  KeptRows::Frozen rows;
  KeptRows written;  // Freed without the lock.
  {
    const MutexLock lock(mu_);
    WQ_CHECK(imaging_, "an image that was not begun");
    rows = kept_.Freeze();
  }
  AppendRows(rows, image);
  {
    const MutexLock lock(mu_);
    image->Append(open_.Close());
    open_.Clear();
    flight = NextFlight();
    flight.sync = true;
    woken = followers_.TakeAll();  // open_ has room again.
  }
  WaitQueue::Notify(woken);
  CoverLog(flight, image);
  Status status = image->empty() ? storage_->Sync() : storage_->Write(*image, /*sync=*/true);
  {
    const MutexLock lock(mu_);
    imaging_ = false;
    if (status.ok()) {
      failed_ = Status::Ok();
      std::swap(written, kept_);
    }
    woken = EndWrite(status, flight);
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
    open_.Clear();
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
    const std::unique_lock<std::shared_mutex> lock(reads_mu_);
    readable_ = false;
  }
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

void Journal::FreeMemory() {
  const MutexLock lock(mu_);
  kept_ = {};
  open_.FreeMemory();
  if (!writing_) {  // A call that is still under way may sync.
    in_flight_.FreeMemory();
  }
}

}  // namespace wq
