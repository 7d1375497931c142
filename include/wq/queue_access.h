// QueueAccess: the changes that somebody who is no worker makes to a queue, alike whether this
// process owns the store or another one does.
//
//   std::unique_ptr<wq::QueueAccess> pods = wq::AccessTo(queue);    // or wq::LiveStore's
//   wq::ChangeResult result;
//   wq::Status s = pods->Change(wq::KeyChange::kRelease, keys, {}, &result);
//
// Threading: thread-compatible. Lifetime: within the queue's. When a call returns Ok, what it did is
// as durable as asked for; after an error some keys, the first ones, may have been changed.
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
};

struct AddRequest {
  std::optional<Lane> lane = std::nullopt;
  std::optional<std::string> group = std::nullopt;
  std::chrono::microseconds delay{0};  // More than 0: AddAfter.
  Durability durability = Durability::kProcess;
};

struct ChangeResult {
  uint64_t done = 0;
  // Indexes of the keys that are not as the change needs them: not queued, not delayed, without
  // failures or in quarantine (kForget), not in quarantine.
  std::vector<size_t> absent;
};

class QueueAccess {
 public:
  virtual ~QueueAccess() = default;

  // Queue::AddBatch, or AddAfter of each key.
  virtual Status Add(std::span<const std::string_view> keys, const AddRequest& request,
                     BatchResult* result) = 0;
  virtual Status Change(KeyChange change, std::span<const std::string_view> keys,
                        Durability durability, ChangeResult* result) = 0;
  virtual Status Pause(std::optional<std::chrono::microseconds> duration) = 0;
  virtual Status Resume(bool* was_paused) = 0;
  // All that was done on the store before, by whomever, is as durable as asked for.
  virtual Status Flush(Durability durability) = 0;
};

// The queue itself, borrowed. Never null.
std::unique_ptr<QueueAccess> AccessTo(Queue* queue);

}  // namespace wq
