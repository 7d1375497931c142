#include "tools/wqctl/cli/drain.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tools/wqctl/text/log.h"

namespace wqctl {

void DrainServer(wq::Server* server, std::chrono::microseconds grace, const StopSignals& signals) {
  const int done = eventfd(0, EFD_CLOEXEC);
  std::thread waiter([server, grace, done] {
    wq::Status s = server->Drain(std::chrono::ceil<std::chrono::milliseconds>(grace));
    if (!s.ok()) LogWarning(s.message() + ", which are queued again");
    eventfd_write(done, 1);
  });
  while (true) {
    pollfd ready[] = {{signals.fd(), POLLIN, 0}, {done, POLLIN, 0}};
    poll(ready, 2, -1);
    if (ready[1].revents != 0) break;
    const int signal = signals.Take();
    if (signal == 0 || signal == SIGHUP) continue;
    const StopGuard guard(signals, StopGuard::During::kStopped);
    server->Close();  // Ends Drain.
    break;
  }
  waiter.join();
  close(done);
}

}  // namespace wqctl
