#include "wq/queue_access.h"

#include <algorithm>

#include "engine/queue/check_arguments.h"
#include "wq/limiter.h"

namespace wq {
namespace {

// Makes one change to one key. NotFound: the key is not in a state that the change is for. `delay`
// is of kRelease.
Status ChangeKey(Queue* queue, KeyChange change, std::string_view key,
                 std::chrono::microseconds delay) {
  // Queue::Forget returns Ok for a key without failures. The check and the Forget are separate
  // calls: a failure that is counted between them is cleared, as if the Forget were later.
  if (change == KeyChange::kForget && (queue->NumRequeues(key) == 0 || queue->IsQuarantined(key))) {
    return Status::NotFound("no failures");
  }
  // One Flush for all keys.
  return change == KeyChange::kRelease ? queue->ReleaseAfter(key, delay, Durability::kAsync)
                                       : queue->Change(change, key, Durability::kAsync);
}

size_t& CountOf(AddOutcome outcome, BatchResult* result) {
  if (outcome == AddOutcome::kHeld) {
    return result->held;
  }
  return outcome == AddOutcome::kAdded ? result->added : result->deduplicated;
}

class DirectAccess final : public QueueAccess {
 public:
  explicit DirectAccess(Queue* queue) : queue_(queue) {}

  Status Add(std::span<const std::string_view> keys, const AddRequest& request,
             BatchResult* result) override {
    *result = {};
    AddOptions options{.lane = request.lane, .durability = request.durability, .group = {}};
    if (request.group.has_value()) {
      options.group = *request.group;
    }
    options.reason = request.reason;
    options.trace_parent = request.trace_parent;
    options.delay_mode = request.delay_mode;
    options.debounce = request.debounce;
    options.wait_for_room = request.wait_for_room;
    return request.delay.count() > 0 ? AddAfter(keys, request, options, result)
                                     : queue_->AddBatch(keys, options, result);
  }

  Status Change(KeyChange change, std::span<const std::string_view> keys,
                const ChangeOptions& options, ChangeResult* result) override {
    *result = {};
    if (Status s = CheckPace(change, options); !s.ok()) {
      return s;
    }
    queue_->Len();  // Fires what is due, so that the result does not depend on the timer.
    for (size_t i = 0; i < keys.size(); ++i) {
      Status s = ChangeKey(queue_, change, keys[i], ReleaseDelay(options, result->done));
      if (s.ok()) {
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
  Status SetLimits(std::string_view group, const std::optional<GroupLimits>& limits) override {
    return queue_->SetLimits(group, limits);
  }
  Status GetLimits(std::span<const std::string> groups,
                   std::map<std::string, GroupStatus>* limits) override {
    limits->clear();
    for (const std::string& group : groups) {
      if (Status s = queue_->GetLimits(group, &(*limits)[group]); !s.ok()) {
        return s;
      }
    }
    return groups.empty() ? GetAllLimits(limits) : Status::Ok();
  }
  Status Flush(Durability durability) override { return queue_->Flush(durability); }

 private:
  Status GetAllLimits(std::map<std::string, GroupStatus>* limits) {
    for (const auto& [group, _] : queue_->Limits()) {
      GroupStatus status;
      if (Status s = queue_->GetLimits(group, &status); !s.ok()) {
        return s;
      }
      if (status.own_limits) {  // Unless they have just been ended.
        limits->emplace(group, status);
      }
    }
    GroupStatus all;
    Status s = queue_->GetLimits("", &all);
    if (s.ok() && all.limits != GroupLimits()) {
      limits->emplace("", all);
    }
    return s;
  }

  // A Queue has no batch of delayed keys. One Flush at the end costs less than a wait for each key.
  Status AddAfter(std::span<const std::string_view> keys, const AddRequest& request,
                  AddOptions options, BatchResult* result) {
    options.durability = Durability::kAsync;
    for (size_t i = 0; i < keys.size(); ++i) {
      AddOutcome outcome = AddOutcome::kAdded;
      Status s = queue_->AddAfter(keys[i], request.delay, options, &outcome);
      if (s.code() == StatusCode::kInvalidArgument) {
        result->refused.emplace_back(i, std::move(s));
      } else if (!s.ok()) {
        return s;
      } else {
        ++CountOf(outcome, result);
      }
    }
    return queue_->Flush(request.durability);
  }

  Queue* const queue_;
};

}  // namespace

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

}  // namespace wq
