#include "engine/commit/failure_recovery.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "engine/commit/bounded_wait.h"

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

// Whether another attempt soon would most likely fail in the same way.
bool IsLasting(const Status& status) {
  return status.code() == StatusCode::kCorruption || status.code() == StatusCode::kLocked;
}

FailureRecovery::Options Bounded(FailureRecovery::Options options) {
  options.backoff_min = BoundedWait(options.backoff_min);
  options.backoff_max = BoundedWait(options.backoff_max);
  return options;
}

}  // namespace

FailureRecovery::FailureRecovery(Target* target, Journal* journal, Options options)
    : target_(target), journal_(journal), options_(Bounded(std::move(options))) {}

bool FailureRecovery::Run() {
  Report(journal_->Health());
  BeginOutage();
  bool recovered = false;
  while (!recovered) {
    const std::optional<uint64_t> asked = AwaitAttempt();
    if (!asked.has_value()) {
      break;
    }
    recovered = EndAttempt(Attempt(), *asked);
  }
  if (recovered) {
    Report(Status::Ok());
  }
  const MutexLock lock(mu_);
  running_ = false;
  done_cv_.NotifyAll();
  return recovered;
}

void FailureRecovery::BeginOutage() {
  const MutexLock lock(mu_);
  running_ = true;
  since_us_ = options_.clock->WallUs();
  attempts_ = 0;
  last_attempt_ = Status::Ok();
  // A store that fails again sooner after its recovery than the last wait was long keeps that wait:
  // so the attempts for a disk that fails again and again do not become more frequent.
  if (SteadyClock::now() - recovered_at_ >= wait_) {
    wait_ = std::chrono::milliseconds(0);
  }
  wait_ = std::max({wait_, options_.backoff_min, std::chrono::milliseconds(1)});
}

std::optional<uint64_t> FailureRecovery::AwaitAttempt() {
  const MutexLock lock(mu_);
  next_at_ = SteadyClock::now() + wait_;
  bool in_time = true;
  while (!stopped_ && asked_ == answered_ && in_time) {
    in_time = run_cv_.WaitUntil(mu_, next_at_);
  }
  return stopped_ ? std::nullopt : std::optional(asked_);
}

bool FailureRecovery::EndAttempt(Status status, uint64_t asked) {
  const MutexLock lock(mu_);
  const bool recovered = status.ok();
  ++attempts_;
  wait_ = IsLasting(status) ? options_.backoff_max : std::min(2 * wait_, options_.backoff_max);
  // Another process has the store: that is final.
  stopped_ = stopped_ || status.code() == StatusCode::kNotOwner;
  last_attempt_ = std::move(status);
  answered_ = asked;
  if (recovered) {  // There is no attempt after this one, so it answers all calls.
    answered_ = asked_;
    recovered_at_ = SteadyClock::now();
  }
  done_cv_.NotifyAll();
  return recovered;
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

void FailureRecovery::Report(const Status& status) const {
  if (options_.on_health != nullptr) {
    options_.on_health(status);
  }
}

Status FailureRecovery::Recover() {
  const MutexLock lock(mu_);
  // Read under mu_: if it is not Ok, an attempt or the whole of Run has still to end, and answers.
  if (Status s = journal_->Health(); s.ok() || s.code() == StatusCode::kNotOwner) {
    return s;
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
    text += "; tried to recover " + std::to_string(attempts_) +
            (attempts_ == 1 ? " time: " : " times, at last: ") + last_attempt_.ToString();
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(next_at_ - SteadyClock::now());
  text += "; next attempt in " + std::to_string(std::max<int64_t>(0, left.count())) + " s";
  return Status::NotDurable(std::move(text));
}

}  // namespace wq
