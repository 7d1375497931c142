// DrainServer: lets workers in other processes finish before a server closes.
#pragma once

#include <chrono>

#include "tools/wqctl/signals/stop_signals.h"
#include "wq/server.h"

namespace wqctl {

// Assigns no more keys, and waits until the workers have answered for those that they hold: for
// `grace` at most, and not after a signal. Then the server has to be closed.
void DrainServer(wq::Server* server, std::chrono::microseconds grace, const StopSignals& signals);

}  // namespace wqctl
