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
#include "wq/metrics.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wqctl {

// Ends the message that a process owns the store.
inline constexpr const char* kServesNothing =
    ", which serves no control socket: only it can change the store";

// Every integer is a lane, and the latest Add sets a key's lane.
wq::QueueOptions ToolQueueOptions();

// StoreOptions::history_bytes of wqctl serve and wqctl work, unless --history-bytes says another.
inline constexpr size_t kDefaultHistoryBytes = size_t{64} << 20;
// What --history-bytes takes, for errors.
inline constexpr const char* kHistoryBytesText = "a number of bytes, 0 or at least 1048576";
std::optional<uint64_t> ParseHistoryBytes(std::string_view text);

template <typename Target>
void AddHistoryBytes(VerbParser* parser, Target* target) {
  AddParsed(parser, "--history-bytes", "N",
            "Record the last events of each key, in N bytes; 0: none; default 67108864",
            kHistoryBytesText, ParseHistoryBytes, target);
}

struct OpenedQueue {
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
};

// NotFound, Locked, Corruption: see wq::Store::Open and OpenQueue. `metrics` may be null.
wq::Status OpenQueue(const std::string& store_dir, const std::string& queue,
                     const wq::QueueOptions& options,
                     const std::shared_ptr<wq::MetricsProvider>& metrics, OpenedQueue* opened);

}  // namespace wqctl
