// Options of the C interface: checked, and converted to those of C++. Thread-safe.
#pragma once

#include <memory>
#include <optional>

#include "bindings/c/boundary/clock.h"
#include "bindings/c/boundary/metrics.h"
#include "wq/c/options.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq::c {

// `metrics` and `clock` become null if the options have none; `out` borrows the clock.
Status ToStoreOptions(const wq_store_options* in, StoreOptions* out,
                      std::shared_ptr<TextMetrics>* metrics, std::unique_ptr<CallbackClock>* clock);
Status ToQueueOptions(const wq_queue_options* in, QueueOptions* out);

// nullopt for WQ_DEFAULT_DURABILITY.
Status ToDurability(int32_t in, std::optional<Durability>* out);

// The options of one call. Lives on the stack of its call: `options` borrows the group.
struct CallOptions {
  AddOptions options;
  std::optional<int64_t> retry_delay_us;
};
Status ToAddOptions(const wq_add_options* in, CallOptions* out);

// A negative timeout is unlimited: about a century.
std::chrono::microseconds ToTimeout(int64_t timeout_us);

}  // namespace wq::c
