// Supervisor: waits for the end of the workers, and stops or kills them: at a signal, when stdout
// is gone, and when the grace period is over.
//
// Thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/work/output.h"
#include "tools/wqctl/work/runner.h"
#include "tools/wqctl/work/worker.h"

namespace wqctl {

class Supervisor {
 public:
  struct Options {
    std::chrono::microseconds grace;
    // Without a progress line, log once when the run has only waited for delayed keys for a second,
    // and again after a further command.
    bool report_wait = false;
  };
  Supervisor(const Options& options, StopSignals* signals, const CommandRunner& runner,
             OutputPrinter* printer, WorkerPool* pool);

  // Blocks: until all workers have ended.
  void Run();
  bool signalled() const { return signal_ != 0; }
  bool killed() const { return killed_; }  // The running commands were killed.

 private:
  using Clock = std::chrono::steady_clock;

  int PollTimeout() const;
  void OnSignal(int signal);
  void OnStop();
  void KillAll(const std::string& why);
  void ReportWait();

  const std::chrono::microseconds grace_;
  const bool shows_line_ = ProgressOnScreen();  // Of progress, which replaces itself.
  const bool report_wait_;
  StopSignals& signals_;
  const CommandRunner& runner_;
  OutputPrinter& printer_;
  WorkerPool& pool_;
  int signal_ = 0;          // The first signal; 0: none.
  bool stop_seen_ = false;  // OnStop was called.
  bool killed_ = false;
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point waiting_since_ = Clock::now();
  uint64_t attempts_seen_ = 0;  // At waiting_since_.
  bool wait_reported_ = false;  // Since waiting_since_.
};

}  // namespace wqctl
