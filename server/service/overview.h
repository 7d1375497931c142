// Overview: the readings of a whole store for Browse.GetOverview and Browse.GetSeries.
//
//   Overview overview({.access = &access, .hub = &hub, .clock = clock});
//   overview.Read("", &response);
//
// Threading: thread-safe. Lifetime: borrows what it is made of.
#pragma once

#include <string>

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
    bool has_series = false;  // Measure is called every Series::kStepUs.
  };
  explicit Overview(const Options& options) : options_(options) {}

  // Adds a point to the series of each queue.
  void Measure();

  // All queues if `queue` is empty; otherwise that one, or none if there is no such queue.
  void Read(const std::string& queue, v1::GetOverviewResponse* response);
  // NotFound: there is no such queue. NotSupported: there are no series.
  Status ReadSeries(const v1::GetSeriesRequest& request, v1::GetSeriesResponse* response) const;

 private:
  const Options options_;
  Series series_;
  Rates rates_;
};

}  // namespace wq
