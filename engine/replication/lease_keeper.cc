#include "engine/replication/lease_keeper.h"

#include <utility>

#include "base/mutant.h"

namespace wq {
namespace {

constexpr std::chrono::milliseconds kRenewalRetryWait{100};

}  // namespace

LeaseKeeper::LeaseKeeper(ReplicatedLog* log, LogLease lease, std::shared_ptr<Fence> fence,
                         std::chrono::milliseconds margin, std::function<void()> on_lost)
    : log_(log),
      lease_(lease),
      end_us_(fence->until_us()),
      fence_(std::move(fence)),
      margin_(margin),
      on_lost_(std::move(on_lost)),
      thread_([this] { Run(); }) {}

void LeaseKeeper::Stop() {
  {
    const MutexLock lock(mu_);
    stopped_ = true;
  }
  stop_cv_.NotifyAll();
  if (thread_.joinable()) {
    thread_.join();
  }
}

Status LeaseKeeper::Problem() const {
  const MutexLock lock(mu_);
  return problem_;
}

bool LeaseKeeper::Sleep(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  const MutexLock lock(mu_);
  while (!stopped_ && stop_cv_.WaitUntil(mu_, until)) {
  }
  return !stopped_;
}

Status LeaseKeeper::RenewOnce() {
  const int64_t sent_us = Clock::System()->SteadyUs();
  Status status = log_->Renew(&lease_);
  if (status.ok()) {
    const int64_t from_us =
        WQ_MUTANT(lease_from_the_answer) ? Clock::System()->SteadyUs() : sent_us;
    end_us_ = from_us + std::chrono::microseconds(lease_.ttl - margin_).count();
    fence_->ExtendTo(end_us_);
  }
  const MutexLock lock(mu_);
  problem_ = status;
  return status;
}

void LeaseKeeper::Run() {
  while (Sleep(Problem().ok() ? lease_.ttl / 3 : kRenewalRetryWait)) {
    const Status status = RenewOnce();
    const bool ended = status.code() == StatusCode::kNotOwner;
    // Not the fence: an owner that gives the store up has dropped it, and still writes.
    if (!ended && (status.ok() || Clock::System()->SteadyUs() < end_us_)) {
      continue;
    }
    fence_->Drop(Status::NotOwner(ended ? "the lease has ended: " + status.message()
                                        : "the lease could not be renewed: " + status.message()));
    on_lost_();
    return;
  }
}

}  // namespace wq
