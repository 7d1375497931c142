// Begin and end of the ownership of a store: waiting for it, learning of its end, and giving it up.
//
//   OwnershipEnd end;                       // Outlives the store.
//   end.Watch(&replication);                // Before Store::Open.
//   …
//   wq::Status s = AwaitOwnership(store.get(), [] { return stopped; });
//   end.Set([&] { pool.Stop(…); });         // Called when the ownership ends.
//   …
//   end.Clear();                            // It is not called any more.
//
// OwnershipEnd is thread-safe.
#pragma once

#include <chrono>
#include <functional>

#include "base/mutex.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "wq/options.h"
#include "wq/server.h"
#include "wq/status.h"
#include "wq/store.h"

namespace wqctl {

// Waits until this process owns the store; says on stderr that it does, who owns it meanwhile, and
// why the log cannot be followed. ShuttingDown: `stopped` has returned true. Blocks: for that.
wq::Status AwaitOwnership(wq::Store* store, const std::function<bool()>& stopped);

// Assigns no more keys, and waits until the workers have answered for those that they hold: for
// `grace` at most, and not after a signal. Then the server has to be closed.
void DrainServer(wq::Server* server, std::chrono::microseconds grace, const StopSignals& signals);

// Gives up the ownership, so that another replica goes on at once, and closes the store. A store
// that is not replicated is closed only.
wq::Status ResignAndClose(wq::Store* store);

class OwnershipEnd {
 public:
  // Sets replication->on_leadership.
  void Watch(wq::Replication* replication);
  // `call` is called at the end of an ownership, by a thread of the store, with *this locked.
  void Set(std::function<void()> call) WQ_EXCLUDES(mu_);
  // Returns after the last call.
  void Clear() WQ_EXCLUDES(mu_) { Set(nullptr); }
  // From now on the end of an ownership is expected, and no message is printed.
  void Expect() WQ_EXCLUDES(mu_);

 private:
  void OnLeadership(const wq::Leadership& leadership) WQ_EXCLUDES(mu_);

  wq::Mutex mu_;
  std::function<void()> call_ WQ_GUARDED_BY(mu_);
  bool expected_ WQ_GUARDED_BY(mu_) = false;
};

}  // namespace wqctl
