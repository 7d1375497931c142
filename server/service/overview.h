// Overview: the readings of a whole store for Browse.GetOverview and Browse.GetSeries.
//
//   Overview overview({.access = &access, .hub = &hub, .clock = clock});
//   Status s = overview.Start();
//   overview.Read("", &response);
//
// Threading: thread-safe. Lifetime: borrows what it is made of; Close before that ends.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "server/api/store_access.h"
#include "server/series/rates.h"
#include "server/series/series.h"
#include "server/work/work_hub.h"
#include "wq/clock.h"
#include "wq/status.h"
#include "wq/v1/browse.pb.h"

namespace wq {

class Overview {
 public:
  struct Options {
    const StoreAccess* access = nullptr;
    const WorkHub* hub = nullptr;
    const Clock* clock = nullptr;
    bool has_series = false;
  };
  explicit Overview(const Options& options) : options_(options) {}
  ~Overview() { Close(); }
  Overview(const Overview&) = delete;
  Overview& operator=(const Overview&) = delete;

  // Begins to measure the series, if it has them, by a thread that sleeps in between. IOError: no
  // thread can be started.
  Status Start();
  void Close() WQ_EXCLUDES(mu_);  // Idempotent; called by one thread at a time.

  // All queues if `queue` is empty; otherwise that one, or none if there is no such queue.
  void Read(const std::string& queue, v1::GetOverviewResponse* response);
  // NotFound: there is no such queue. NotSupported: there are no series.
  Status ReadSeries(const v1::GetSeriesRequest& request, v1::GetSeriesResponse* response) const;

 private:
  void Run() WQ_EXCLUDES(mu_);
  // Adds a point to the series of each queue. Returns the steady time of the next one.
  int64_t Measure();

  const Options options_;
  Series series_;
  Rates rates_;
  std::thread thread_;
  Mutex mu_;
  CondVar closed_;
  bool closing_ WQ_GUARDED_BY(mu_) = false;
};

}  // namespace wq
