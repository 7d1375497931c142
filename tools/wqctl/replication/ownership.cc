#include "tools/wqctl/replication/ownership.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "tools/wqctl/text/log.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

// From one look for a stop to the next. The begin of an ownership ends a wait at once.
constexpr auto kStopCheck = std::chrono::milliseconds{50};
// A new owner, or none, is reported only if it lasts: a free log has an owner soon.
constexpr auto kReportAfter = std::chrono::milliseconds{200};

std::string WaitText(const wq::ReplicaState& replica) {
  std::string text = replica.owner_name.empty()
                         ? "waiting: the log has no owner"
                         : "waiting: owner is " + wq::EscapeKey(replica.owner_name);
  if (!replica.log.ok()) text += "; " + wq::EscapeKey(replica.log.message(), 4096);
  return text;
}

// Between two looks for a signal.
constexpr auto kDrainStep = std::chrono::milliseconds(50);

}  // namespace

// Without a thread of its own, which a process may not get when it is to end.
void DrainServer(wq::Server* server, std::chrono::microseconds grace, const StopSignals& signals) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    wq::Status s = server->Drain(std::clamp(left, std::chrono::milliseconds(0), kDrainStep));
    if (s.ok()) return;
    if (left <= kDrainStep) {
      LogWarning(s.message() + ", which are queued again");
      return;
    }
    if (const int signal = signals.Take(); signal != 0 && signal != SIGHUP) {
      const StopGuard guard(signals, StopGuard::During::kStopped);
      server->Close();
      return;
    }
  }
}

wq::Status AwaitOwnership(wq::Store* store, const std::function<bool()>& stopped) {
  using Clock = std::chrono::steady_clock;
  std::string said;
  std::string seen;
  Clock::time_point since = Clock::now();
  while (true) {
    wq::Status s = store->WaitForLeadership(kStopCheck);
    if (s.ok()) {
      // 0: it has ended already.
      if (const uint64_t epoch = store->Epoch(); epoch != 0) {
        LogInfo("this process owns the store now, in epoch " + std::to_string(epoch));
      }
      return s;
    }
    if (s.code() != wq::StatusCode::kTimedOut) return s;
    if (stopped()) return wq::Status::ShuttingDown("stopped while waiting for the ownership");
    std::string text = WaitText(store->Replica());
    if (text != seen) {
      seen = std::move(text);
      since = Clock::now();
    }
    if (seen != said && Clock::now() - since >= kReportAfter) {
      said = seen;
      LogInfo(said);
    }
  }
}

wq::Status ResignAndClose(wq::Store* store) {
  wq::Status resigned = store->Resign();
  // It is not replicated, or is no owner.
  if (resigned.code() == wq::StatusCode::kInvalidArgument ||
      resigned.code() == wq::StatusCode::kNotOwner) {
    resigned = {};
  }
  wq::Status closed = store->Close();
  return resigned.ok() ? closed : resigned;
}

void OwnershipEnd::Watch(wq::Replication* replication) {
  replication->on_leadership = [this](const wq::Leadership& leadership) {
    OnLeadership(leadership);
  };
}

void OwnershipEnd::Set(std::function<void()> call) {
  const wq::MutexLock lock(mu_);
  call_ = std::move(call);
}

void OwnershipEnd::Expect() {
  const wq::MutexLock lock(mu_);
  expected_ = true;
}

void OwnershipEnd::OnLeadership(const wq::Leadership& leadership) {
  if (leadership.owner) return;
  const wq::MutexLock lock(mu_);
  if (!expected_) {
    LogWarning("this process does not own the store any more: " +
               wq::EscapeKey(leadership.why, 4096));
  }
  if (call_ != nullptr) call_();
}

}  // namespace wqctl
