#include "engine/journal.h"

#include "engine/metrics.h"
#include "storage/check.h"

namespace wq {

Journal::Journal(storage::Storage* storage, const Options& options)
    : storage_(storage), options_(options), writer_([this] { WriteLoop(); }) {}

Journal::~Journal() {
  const Status ignored = Stop();  // Whoever cares has called Stop, or Flush.
  static_cast<void>(ignored);
}

Position Journal::Append(const storage::MutationBatch& batch, Urgency urgency) {
  WQ_CHECK(!batch.empty(), "an empty batch has no position");
  const MutexLock lock(mu_);
  if (failed_.ok()) {  // Otherwise nothing is written any more, and must not pile up.
    open_.Append(batch);
  }
  urgent_ = urgent_ || urgency == Urgency::kUrgent;
  const bool wake = urgency == Urgency::kUrgent
                        ? writer_sleep_ != Sleep::kAwake
                        : urgency == Urgency::kLazy && writer_sleep_ == Sleep::kAsleep;
  if (wake) {
    writer_sleep_ = Sleep::kAwake;
    must_wake_.store(true, std::memory_order_relaxed);
  }
  if (open_.bytes() > options_.max_batch_bytes) {
    must_look_.store(true, std::memory_order_relaxed);
  }
  return ++appended_;
}

void Journal::Kick() {
  if (must_wake_.load(std::memory_order_relaxed) && must_wake_.exchange(false)) {
    writer_cv_.NotifyOne();
  }
}

Status Journal::Wait(Position position, Durability durability) {
  Kick();
  if (!must_look_.load(std::memory_order_relaxed)) {
    if (durability == Durability::kAsync ||
        (durability == Durability::kProcess &&
         written_seen_.load(std::memory_order_acquire) >= position)) {
      return {};
    }
  }
  return WaitSlow(position, durability);
}

Status Journal::WaitSlow(Position position, Durability durability) {
  const MutexLock lock(mu_);
  if (durability == Durability::kAsync && open_.bytes() <= options_.max_batch_bytes) {
    return written_ >= position ? Status::Ok() : failed_;
  }
  if (durability == Durability::kPower && sync_wanted_ < position) {
    sync_wanted_ = position;
  }
  const Position& reached = durability == Durability::kPower ? synced_ : written_;
  while (reached < position) {
    if (!failed_.ok()) {
      return failed_;
    }
    if (writing_) {
      done_cv_.Wait(mu_);
    } else {
      WriteOpen();
    }
  }
  return {};
}

// Writes what is open, and syncs if somebody waits for that. Gives mu_ up meanwhile.
void Journal::WriteOpen() {
  WQ_CHECK(!writing_, "two writes at once");
  writing_ = true;
  in_flight_.Swap(open_);
  urgent_ = false;
  const Position end = appended_;
  const bool sync = sync_wanted_ > synced_;

  mu_.Unlock();
  using SteadyClock = std::chrono::steady_clock;
  const auto begun = options_.metrics == nullptr ? SteadyClock::time_point() : SteadyClock::now();
  const size_t mutations = in_flight_.count();
  Status status;
  if (!in_flight_.empty()) {
    status = storage_->Write(in_flight_, sync);
  } else if (sync) {
    status = storage_->Sync();
  }
  const auto took =
      options_.metrics == nullptr ? SteadyClock::duration() : SteadyClock::now() - begun;
  in_flight_.Clear();
  mu_.Lock();

  writing_ = false;
  if (status.ok()) {
    written_ = end;
    synced_ = sync ? end : synced_;
    written_seen_.store(end, std::memory_order_release);
  } else {
    // The outcome of this write is unknown. Going on to write could leave a hole before what comes
    // later, and syncing again can report success for pages that the kernel has dropped.
    failed_ = Status::NotDurable(status.message());
    open_.Clear();
  }
  must_look_.store(!failed_.ok() || open_.bytes() > options_.max_batch_bytes,
                   std::memory_order_relaxed);
  done_cv_.NotifyAll();
  if (options_.metrics != nullptr) {
    mu_.Unlock();  // Not earlier: whoever collects may call the queues, and those may write.
    options_.metrics->ObserveCommit(mutations, took);
    mu_.Lock();
  }
}

void Journal::WriteLoop() {
  const MutexLock lock(mu_);
  while (!stopping_ && failed_.ok()) {
    while (open_.empty() && !stopping_) {
      writer_sleep_ = Sleep::kAsleep;
      writer_cv_.Wait(mu_);
    }
    const auto until = std::chrono::steady_clock::now() + options_.flush_interval;
    bool in_time = true;
    while (!urgent_ && !stopping_ && in_time) {
      writer_sleep_ = Sleep::kDozing;
      in_time = writer_cv_.WaitUntil(mu_, until);
    }
    writer_sleep_ = Sleep::kAwake;
    while (writing_) {
      done_cv_.Wait(mu_);
    }
    if (!open_.empty() && failed_.ok()) {
      WriteOpen();
    }
  }
  writer_sleep_ = Sleep::kAwake;
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
