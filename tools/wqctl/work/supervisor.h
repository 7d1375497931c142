// Supervisor: waits for the end of the workers, and stops or kills them: at a signal, when stdout
// is gone, at --halt, and when the grace period is over.
//
// Thread-compatible.
#pragma once

#include <chrono>
#include <string>

#include "tools/wqctl/cli/stop_signals.h"
#include "tools/wqctl/work/output.h"
#include "tools/wqctl/work/runner.h"
#include "tools/wqctl/work/status_line.h"
#include "tools/wqctl/work/worker.h"

namespace wqctl {

class Supervisor {
 public:
  Supervisor(std::chrono::microseconds grace, StopSignals* signals, const CommandRunner& runner,
             OutputPrinter* printer, StatusLine* status_line, WorkerPool* pool);

  // Blocks: until all workers have ended.
  void Run();

 private:
  using Clock = std::chrono::steady_clock;

  int PollTimeout() const;
  void OnSignal(int signal);
  void OnStop();
  void KillAll(const std::string& why);

  const std::chrono::microseconds grace_;
  StopSignals& signals_;
  const CommandRunner& runner_;
  OutputPrinter& printer_;
  StatusLine& status_line_;
  WorkerPool& pool_;
  int signal_ = 0;          // The first signal; 0: none.
  bool stop_seen_ = false;  // OnStop was called.
  bool killed_ = false;
  Clock::time_point kill_at_ = Clock::time_point::max();
};

}  // namespace wqctl
