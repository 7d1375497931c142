// QueueAccess: changes to a queue by a caller that is not a worker, with one interface whether this
// process owns the store or another one does.
//
//   std::unique_ptr<wq::QueueAccess> pods = wq::AccessTo(queue);    // or wq::LiveStore's
//   wq::ChangeResult result;
//   wq::Status s = pods->Change(wq::KeyChange::kRelease, keys, {}, &result);
//
// Threading: thread-compatible. Lifetime: within the queue's. A crash: what a call that returned Ok
// did is as durable as asked for. After NotDurable all keys were changed, in memory, and the result
// says how; after another error a prefix of the keys may have been changed.
// Every call Blocks: for the store's writes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wq/options.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wq {

enum class KeyChange : uint8_t {
  kRemove = 0,       // Queue::Remove.
  kCancelDelay = 1,  // Queue::CancelDelay.
  kRequeue = 2,      // Queue::EndDelay.
  kForget = 3,       // Queue::Forget.
  kRelease = 4,      // Queue::Release.
  kDrop = 5,         // Queue::Drop.
  kDelete = 6,       // Queue::Delete.
};

struct ChangeOptions {
  Durability durability = Durability::kProcess;
  // Of kRelease. The first key is added after `delay`, and each further one 1 / per_second later;
  // until then a key is delayed, so the pace holds over restarts too. `per_second` is from kMinRate
  // to kMaxRate; 0: all are added after `delay`.
  std::chrono::microseconds delay{0};
  double per_second = 0;
};

// How long a key is delayed that is released behind `released` others. At most kMaxDelay.
std::chrono::microseconds ReleaseDelay(const ChangeOptions& options, uint64_t released);

struct ChangeResult {
  uint64_t done = 0;
  // Indexes of the keys that the change does not apply to: not dirty, not delayed, without failures
  // or in quarantine (kForget), not in quarantine, not in the queue (kDelete).
  std::vector<size_t> absent;
};

class QueueAccess {
 public:
  virtual ~QueueAccess();

  // Adds the keys: Queue::AddBatch, or with a `delay` of more than 0 AddAfter of each key. A server
  // takes `wait_for_room` for 0: it does not wait. NotSupported: `if_absent` in another process.
  virtual Status Add(std::span<const std::string_view> keys, const AddOptions& options,
                     std::chrono::microseconds delay, BatchResult* result) = 0;
  // Applies the change to each key. Keys that it does not apply to are listed in the result.
  // InvalidArgument: `delay` is less than 0, `per_second` is out of range, or one of both is set
  // and the change is not kRelease.
  virtual Status Change(KeyChange change, std::span<const std::string_view> keys,
                        const ChangeOptions& options, ChangeResult* result) = 0;
  // Pauses and resumes as Queue's calls do.
  virtual Status Pause(std::optional<std::chrono::microseconds> duration) = 0;
  virtual Status Resume(bool* was_paused) = 0;
  // Makes everything that was done on the store before this call, by any caller, as durable as
  // asked for.
  virtual Status Flush(Durability durability) = 0;
};

// Returns access to a queue of this process. `queue` is borrowed. Never null.
std::unique_ptr<QueueAccess> AccessTo(Queue* queue);

}  // namespace wq
