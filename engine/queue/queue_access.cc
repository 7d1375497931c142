#include "wq/queue_access.h"

#include <algorithm>

#include "engine/queue/check_arguments.h"
#include "engine/queue/queue_impl.h"
#include "wq/internal/queue_calls.h"
#include "wq/limiter.h"

namespace wq {
class DirectAccess final : public QueueAccess {
 public:
  explicit DirectAccess(Queue* queue) : queue_(queue) {}

  Status Add(std::span<const std::string_view> keys, const AddOptions& options,
             std::chrono::microseconds delay, BatchResult* result) override {
    *result = {};
    return delay.count() > 0 ? AddAfter(keys, options, delay, result)
                             : queue_->AddBatch(keys, options, result);
  }

  Status Change(KeyChange change, std::span<const std::string_view> keys,
                const ChangeOptions& options, ChangeResult* result) override {
    *result = {};
    if (Status s = CheckPace(change, options); !s.ok()) {
      return s;
    }
    if (Status s = queue_->impl_->CheckDurability(options.durability); !s.ok()) {
      return s;  // Before anything is changed.
    }
    queue_->Len();  // Fires what is due, so that the result does not depend on the timer.
    for (size_t i = 0; i < keys.size(); ++i) {
      Status s = ChangeKey(change, keys[i], ReleaseDelay(options, result->done));
      if (IsApplied(s)) {
        ++result->done;
      } else if (s.code() == StatusCode::kNotFound) {
        result->absent.push_back(i);
      } else {
        return s;
      }
    }
    return queue_->Flush(options.durability);
  }

  Status Pause(std::optional<std::chrono::microseconds> duration) override {
    return queue_->Pause(duration);
  }
  Status Resume(bool* was_paused) override {
    *was_paused = queue_->Counts().paused;
    return queue_->Resume();
  }
  Status Flush(Durability durability) override { return queue_->Flush(durability); }

  static Status PutBackDead(Queue* queue, std::string_view key, bool* failed) {
    return queue->impl_->PutBackDead(key, failed);
  }
  static bool DiedBefore(Queue* queue, std::string_view key) {
    const MutexLock lock(queue->impl_->mu);
    return queue->impl_->state->DiedBefore(key);
  }
  static Status SetLimits(Queue* queue, const GroupLimits& of_queue, const GroupLimits& of_groups) {
    return queue->impl_->SetLimits(of_queue, of_groups);
  }
  static void NoteStarted(Queue* queue, std::span<const std::string> keys) {
    queue->impl_->NoteStarted(keys);
  }

 private:
  // Makes one change to one key. NotFound: the key is not in a state that the change is for.
  // `delay` is of kRelease.
  Status ChangeKey(KeyChange change, std::string_view key, std::chrono::microseconds delay) {
    // Queue::Forget returns Ok for a key without failures. The check and the Forget are separate
    // calls: a failure that is counted between them is cleared, as if the Forget were later.
    if (change == KeyChange::kForget &&
        (queue_->NumRequeues(key) == 0 || queue_->IsQuarantined(key))) {
      return Status::NotFound("no failures");
    }
    // One Flush for all keys.
    return queue_->impl_->ChangeKey(change, key, delay, Durability::kAsync);
  }

  // A Queue has no batch of delayed keys. One Flush at the end costs less than a wait for each key.
  Status AddAfter(std::span<const std::string_view> keys, AddOptions options,
                  std::chrono::microseconds delay, BatchResult* result) {
    const Durability durability = options.durability.value_or(queue_->durability());
    if (Status s = queue_->impl_->CheckDurability(durability); !s.ok()) {
      return s;  // Before anything is changed.
    }
    options.durability = Durability::kAsync;
    for (size_t i = 0; i < keys.size(); ++i) {
      AddOutcome outcome = AddOutcome::kAdded;
      Status s = queue_->AddAfter(keys[i], delay, options, &outcome);
      if (s.code() == StatusCode::kInvalidArgument) {
        result->refused.emplace_back(i, std::move(s));
      } else if (!IsApplied(s)) {
        return s;
      } else {
        CountOutcome(outcome, result);
      }
    }
    return queue_->Flush(durability);
  }

  Queue* const queue_;
};

QueueAccess::~QueueAccess() = default;

std::chrono::microseconds ReleaseDelay(const ChangeOptions& options, uint64_t released) {
  if (!(options.per_second > 0)) {  // Also if it is no number.
    return std::min(options.delay, kMaxDelay);
  }
  constexpr double kMicrosPerSecond = 1e6;
  const double wait_us = static_cast<double>(released) * kMicrosPerSecond / options.per_second;
  if (wait_us >= static_cast<double>(kMaxDelay.count())) {
    return kMaxDelay;
  }
  const std::chrono::microseconds wait(static_cast<int64_t>(wait_us));
  return std::min(std::min(options.delay, kMaxDelay) + wait, kMaxDelay);
}

std::unique_ptr<QueueAccess> AccessTo(Queue* queue) {
  return std::make_unique<DirectAccess>(queue);
}

Status SetLimits(Queue* queue, const GroupLimits& of_queue, const GroupLimits& of_groups) {
  return DirectAccess::SetLimits(queue, of_queue, of_groups);
}

Status PutBackDead(Queue* queue, std::string_view key, bool* failed) {
  return DirectAccess::PutBackDead(queue, key, failed);
}

bool DiedBefore(Queue* queue, std::string_view key) { return DirectAccess::DiedBefore(queue, key); }

void NoteStarted(Queue* queue, std::span<const std::string> keys) {
  DirectAccess::NoteStarted(queue, keys);
}

}  // namespace wq
