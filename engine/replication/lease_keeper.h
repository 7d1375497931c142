// LeaseKeeper: renews the lease of an ownership, three times in its length, and extends the fence.
//
//   LeaseKeeper keeper(log, lease, fence, margin, [&] { … the ownership has ended … });
//   …
//   keeper.Stop();
//
// A renewal extends the fence from the time at which its request was sent (Fence). A failed one is
// repeated until the fence has passed. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "engine/replication/fence.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq {

class LeaseKeeper {
 public:
  // `log` is borrowed. `on_lost` is called once if the lease ends, by the keeper's thread, after
  // the fence was dropped.
  LeaseKeeper(ReplicatedLog* log, LogLease lease, std::shared_ptr<Fence> fence,
              std::chrono::milliseconds margin, std::function<void()> on_lost);
  ~LeaseKeeper() { Stop(); }
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Ends the renewals. Blocks: for a request that is under way.
  void Stop();
  // Ok, or why the last renewal failed.
  Status Problem() const WQ_EXCLUDES(mu_);

 private:
  void Run();
  // Waits for `time`. False: Stop was called.
  bool Sleep(std::chrono::milliseconds time) WQ_EXCLUDES(mu_);
  Status RenewOnce();

  ReplicatedLog* const log_;
  LogLease lease_;  // Of the thread, as is:
  int64_t end_us_;  // Until when the lease surely lasts, less the margin.
  const std::shared_ptr<Fence> fence_;
  const std::chrono::milliseconds margin_;
  const std::function<void()> on_lost_;

  mutable Mutex mu_;
  CondVar stop_cv_;
  bool stopped_ WQ_GUARDED_BY(mu_) = false;
  Status problem_ WQ_GUARDED_BY(mu_);

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace wq
