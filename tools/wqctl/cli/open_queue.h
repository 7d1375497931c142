// How wqctl becomes the owner of a store and opens a queue of it: always in the same order of
// hand-outs, so that a key keeps the lane that one verb has put it in, whatever the next one is.
#pragma once

#include <memory>
#include <string>

#include "wq/metrics.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wqctl {

// Every integer is a lane, and the latest Add decides. Two lanes are two of them.
wq::QueueOptions ToolQueueOptions();

struct OpenedQueue {
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
};

// NotFound, Locked, Corruption: see wq::Store::Open and OpenQueue. `metrics` may be null.
wq::Status OpenQueue(const std::string& store_dir, const std::string& queue,
                     const wq::QueueOptions& options,
                     const std::shared_ptr<wq::MetricsProvider>& metrics, OpenedQueue* opened);

}  // namespace wqctl
