// Opens a store as its owner, and a queue of it. All verbs open queues with the same order, so that
// a key keeps its lane from one verb to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tools/wqctl/cli/cli.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wqctl {

// Ends the message that a process owns the store.
inline constexpr const char* kServesNothing =
    ", which serves no control socket: only it can change the store";

// Every integer is a lane, and the latest Add sets a key's lane.
wq::QueueOptions ToolQueueOptions();

struct OpenedQueue {
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
};

// NotFound, Locked, Corruption: see wq::Store::Open and OpenQueue.
wq::Status OpenQueue(const std::string& store_dir, const std::string& queue,
                     const wq::QueueOptions& options, OpenedQueue* opened);

}  // namespace wqctl
