// StoredStore: reads a store that no server serves, for the live page: beside its owner, after a
// clean close, and after a crash.
//
//   StoredStore store("/var/lib/pods.wq", Clock::System());
//   Status s = store.Open();
//   store.ReadOverview("", &response);
//
// What it shows is as old as its StoreView. A view is opened anew when it is older than kFreshUs
// and than kRest times what it took to make: so a large store takes a small part of one core, and
// its page shows when it was read.
// Threading: thread-safe; but only one call of Scan and Inspect at a time (see SearchTurns).
// Lifetime: borrows the clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "server/browse/key_source.h"
#include "wq/clock.h"
#include "wq/queue.h"
#include "wq/status.h"
#include "wq/v1/browse.pb.h"

namespace wq {

class StoreView;

class StoredStore final : public KeySource {
 public:
  static constexpr int64_t kFreshUs = 2'000'000;
  static constexpr int64_t kRest = 10;

  StoredStore(std::string directory, Clock* clock)
      : directory_(std::move(directory)), clock_(clock) {}

  // NotFound, Corruption, NotSupported as StoreView::Open.
  Status Open() WQ_EXCLUDES(mu_);

  Status Check(std::string_view queue) const override WQ_EXCLUDES(mu_);
  Status Scan(std::string_view queue, const KeyVisitor& visit) const override WQ_EXCLUDES(mu_);
  Status Inspect(std::string_view queue, std::string_view key,
                 const std::function<void(const KeyInfo&)>& visit) const override WQ_EXCLUDES(mu_);
  std::vector<std::string> Names() const override WQ_EXCLUDES(mu_);

  // All queues if `queue` is empty. Blocks: to count all keys, if nothing was counted yet, or if no
  // other call is counting; otherwise the counts may be older.
  void ReadOverview(const std::string& queue, v1::GetOverviewResponse* response) WQ_EXCLUDES(mu_);

 private:
  // A reading that takes time, and when it is to be made anew.
  struct Due {
    int64_t at_us = 0;  // By the steady clock.
    // Of a reading that began at `begin_us`.
    void Made(int64_t begin_us, int64_t end_us);
  };
  // The present view. An error: it could not be opened anew, and there is none.
  Status View(std::shared_ptr<const StoreView>* view) const WQ_EXCLUDES(mu_);
  // The same. NotFound: it has no such queue.
  Status ViewOf(std::string_view queue, std::shared_ptr<const StoreView>* view) const
      WQ_EXCLUDES(mu_);
  Status Count(v1::GetOverviewResponse* overview) const;
  // Whether the caller is to count, and call EndCount.
  bool BeginCount() WQ_EXCLUDES(mu_);
  void EndCount(const Status& status, v1::GetOverviewResponse overview, int64_t begin_us)
      WQ_EXCLUDES(mu_);

  const std::string directory_;
  Clock* const clock_;
  mutable Mutex mu_;
  mutable std::shared_ptr<const StoreView> view_ WQ_GUARDED_BY(mu_);
  mutable Due view_due_ WQ_GUARDED_BY(mu_);
  CondVar counted_;
  v1::GetOverviewResponse overview_ WQ_GUARDED_BY(mu_);  // Of all queues.
  bool has_overview_ WQ_GUARDED_BY(mu_) = false;
  bool counting_ WQ_GUARDED_BY(mu_) = false;
  Due overview_due_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
