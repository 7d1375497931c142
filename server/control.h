// The requests of the control socket: decoded, performed on the store's queues, and answered.
#pragma once

#include <functional>
#include <string_view>

#include "server/http.h"
#include "wq/status.h"

namespace wq {

// The answer to a request that AddControl has no handler for: `request` is "GET /path".
HttpReply NoSuchCall(const std::string& request);

class Queue;
class Store;

// See ServerOptions::open_queue.
using QueueOpener = std::function<Status(std::string_view name, bool create, Queue** queue)>;

// Adds the handlers to `http`. Borrows the store.
void AddControl(Store* store, const QueueOpener& open_queue, Http* http);

}  // namespace wq
