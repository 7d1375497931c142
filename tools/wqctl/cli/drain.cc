#include "tools/wqctl/cli/drain.h"

#include <algorithm>
#include <csignal>

#include "tools/wqctl/text/log.h"

namespace wqctl {
namespace {

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

}  // namespace wqctl
