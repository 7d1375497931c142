#include "engine/commit/failure_recovery.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace wq {
namespace {

std::string TimeText(int64_t wall_us) {
  const std::time_t seconds = static_cast<std::time_t>(wall_us / 1'000'000);
  std::tm parts = {};
  char text[32];
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return std::to_string(seconds) + " s";
  }
  return text;
}

// What a next look soon after would hardly find better.
bool IsLasting(const Status& status) {
  return status.code() == StatusCode::kCorruption || status.code() == StatusCode::kLocked;
}

}  // namespace

FailureRecovery::FailureRecovery(Target* target, Journal* journal, Options options)
    : target_(target), journal_(journal), options_(std::move(options)) {}

bool FailureRecovery::Run() {
  Tell(journal_->Health());
  bool mended = false;
  {
    const MutexLock lock(mu_);
    BeginOutage();
    while (!mended && AwaitAttempt()) {
      const uint64_t asked = asked_;
      mu_.Unlock();
      Status status = Attempt();
      mu_.Lock();
      mended = status.ok();
      ++attempts_;
      wait_ = IsLasting(status) ? options_.backoff_max : std::min(2 * wait_, options_.backoff_max);
      last_attempt_ = std::move(status);
      answered_ = asked;
      done_cv_.NotifyAll();
    }
    recovered_at_ = SteadyClock::now();
    answered_ = asked_;
    done_cv_.NotifyAll();
  }
  if (mended) {
    Tell(Status::Ok());
  }
  const MutexLock lock(mu_);
  running_ = false;
  done_cv_.NotifyAll();
  return mended;
}

void FailureRecovery::BeginOutage() {
  running_ = true;
  since_us_ = options_.clock->WallUs();
  attempts_ = 0;
  last_attempt_ = Status::Ok();
  // A store that fails again sooner than it was waited for is no better than it was: its attempts
  // become no more frequent.
  if (SteadyClock::now() - recovered_at_ >= wait_) {
    wait_ = std::chrono::milliseconds(0);
  }
  wait_ = std::max({wait_, options_.backoff_min, std::chrono::milliseconds(1)});
}

// Returns when it is time for an attempt; false: Run is to end.
bool FailureRecovery::AwaitAttempt() {
  next_at_ = SteadyClock::now() + wait_;
  bool in_time = true;
  while (!stopped_ && asked_ == answered_ && in_time) {
    in_time = run_cv_.WaitUntil(mu_, next_at_);
  }
  return !stopped_;
}

Status FailureRecovery::Attempt() {
  if (Status s = target_->Reopen(); !s.ok()) {
    return s;
  }
  journal_->BeginImage();
  storage::MutationBatch difference;
  Status status = target_->AppendDifference(&difference);
  if (status.ok() && difference.bytes() > options_.max_difference_bytes) {
    status = Status::IOError(
        "what the disk lacks is " + std::to_string(difference.bytes()) +
        " bytes, more than one write takes: " + std::to_string(options_.max_difference_bytes));
  }
  if (!status.ok()) {
    journal_->DropImage();
    return status;
  }
  return journal_->WriteImage(&difference);
}

void FailureRecovery::Tell(const Status& status) const {
  if (options_.on_health != nullptr) {
    options_.on_health(status);
  }
}

Status FailureRecovery::Recover() {
  const MutexLock lock(mu_);
  // Looked at under mu_: while it is not Ok, the end of Run, or of an attempt, is yet to come.
  if (journal_->Health().ok()) {
    return {};
  }
  const uint64_t mine = ++asked_;
  run_cv_.NotifyOne();
  while (answered_ < mine && !stopped_) {
    done_cv_.Wait(mu_);
  }
  return journal_->Health();
}

void FailureRecovery::Stop() {
  const MutexLock lock(mu_);
  stopped_ = true;
  run_cv_.NotifyOne();
  done_cv_.NotifyAll();
  while (running_) {
    done_cv_.Wait(mu_);
  }
}

Status FailureRecovery::Health() const {
  Status status = journal_->Health();
  const MutexLock lock(mu_);
  if (status.ok() || !running_) {
    return status;
  }
  std::string text = status.message() + "; not durable since " + TimeText(since_us_);
  if (attempts_ > 0) {
    text += "; tried to mend " + std::to_string(attempts_) +
            (attempts_ == 1 ? " time: " : " times, at last: ") + last_attempt_.ToString();
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(next_at_ - SteadyClock::now());
  text += "; next attempt in " + std::to_string(std::max<int64_t>(0, left.count())) + " s";
  return Status::NotDurable(std::move(text));
}

}  // namespace wq
