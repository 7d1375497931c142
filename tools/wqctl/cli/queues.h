// Selects the queues of a store for a verb, or opens one of them as the store's owner, and words
// the error if a queue does not exist.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/options.h"
#include "wq/queue.h"
#include "wq/status.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wqctl {

// Opens a view of the store. `names`: `queue`, or all queues, sorted. NotFound: no store, or no
// queue of this name; then the message suggests the nearest name.
wq::Status ViewQueues(const std::string& store_dir, const std::optional<std::string>& queue,
                      std::unique_ptr<wq::StoreView>* view, std::vector<std::string>* names);

// NotFound: `queue` is not one of `names`. The message suggests the nearest name.
wq::Status NoSuchQueue(std::string_view queue, const std::vector<std::string>& names);

// Returns NoSuchQueue if `status`, of opening `queue`, is NotFound and the store has no such queue;
// otherwise `status`.
wq::Status ExplainMissing(const std::string& store_dir, const std::string& queue,
                          wq::Status status);

// Ends the message that a process owns the store.
inline constexpr const char* kServesNothing =
    ", which serves no control socket: only it can change the store";

// How all verbs open queues, so that a key keeps its lane from one verb to the next: every integer
// is a lane, and the latest Add sets a key's lane.
wq::QueueOptions ToolQueueOptions();

struct OpenedQueue {
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
};

// NotFound, Locked, Corruption: see wq::Store::Open and OpenQueue.
wq::Status OpenQueue(const std::string& store_dir, const std::string& queue,
                     const wq::QueueOptions& options, OpenedQueue* opened);

// "; did you mean "NAME"?", of the name that is nearest to `word`, if it is near enough for `word`
// to be a typing error. Otherwise "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& names);

}  // namespace wqctl
