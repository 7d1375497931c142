#include "tests/model/state_queue.h"

#include "base/check.h"
#include "engine/recovery/recovery.h"
#include "tests/model/image.h"

namespace wq::model {
namespace {

std::string ResultOf(AddOutcome outcome) {
  return outcome == AddOutcome::kAdded          ? "added"
         : outcome == AddOutcome::kDeduplicated ? "deduplicated"
                                                : "held";
}

}  // namespace

StateQueue::StateQueue(const QueueOptions& options, int64_t wall_us)
    : options_(options),
      now_({.steady_us = 0, .wall_us = wall_us}),
      state_(std::make_unique<QueueState>(1, options_, &batch_)) {}

// Writes the mutations of a transition to the disk.
void StateQueue::Commit() {
  if (!batch_.empty()) {
    const Status s = disk_.Write(batch_, false);
    WQ_CHECK(s.ok(), s.message().c_str());
    batch_.Clear();
  }
  state_->Stamp(++position_);
}

// In the smallest pieces.
void StateQueue::Fire() {
  while (state_->NextDue().value_or(INT64_MAX) <= now_.steady_us) {
    state_->FireDue(now_, 1);
    Commit();
  }
}

std::string StateQueue::Do(const Call& call) {
  const QueueState::Wanted wanted{
      .lane = call.lane, .group = call.group, .reason = call.reason, .delay_mode = call.mode};
  std::string result = "ok";
  switch (call.op) {
    case Op::kAdd:
      result =
          ResultOf(options_.debounce.quiet.count() > 0
                       ? state_->AddDebounced(call.key, options_.debounce, wanted, now_).outcome
                       : state_->Add(call.key, wanted, now_.wall_us).outcome);
      break;
    case Op::kAddAfter:
      result = ResultOf(state_->AddAfter(call.key, call.delay_us, wanted, now_).outcome);
      break;
    case Op::kAddRateLimited:
      result = ResultOf(state_
                            ->AddRateLimited(call.key,
                                             {.delay_us = call.delay_us,
                                              .error = "error",
                                              .limiter_state = std::to_string(++limiter_calls_)},
                                             wanted, now_)
                            .outcome);
      break;
    case Op::kForget:
      state_->Forget(call.key);
      break;
    case Op::kGet: {
      const Item* item = state_->Get(call.shard, now_);
      result = item == nullptr ? "none" : std::string(item->key());
      break;
    }
    case Op::kDone:
      result = state_->Done(call.key, now_) ? "ok" : "NotProcessing";
      break;
    case Op::kPutBack:
      result = state_->PutBack(call.key) ? "ok" : "NotProcessing";
      break;
    case Op::kPutBackDead:
      if (state_->DeathFails(call.key)) {
        state_->FailDead(call.key,
                         {.delay_us = call.delay_us,
                          .error = "error",
                          .limiter_state = std::to_string(++limiter_calls_)},
                         {}, now_);
      } else {
        result = state_->PutBackDead(call.key) ? "ok" : "NotProcessing";
      }
      break;
    case Op::kAdvance:
      now_.steady_us += call.delay_us;
      now_.wall_us += call.delay_us;
      Fire();
      break;
    case Op::kCrash: {
      state_ = std::make_unique<QueueState>(1, options_, &batch_);
      const Status s = RestoreQueue(disk_, 1, now_, state_.get());
      WQ_CHECK(s.ok(), s.message().c_str());
      Fire();
      break;
    }
    case Op::kSetLimits:
      state_->SetLimits(call.limits_of_queue, call.limits, now_);
      break;
    default:
      WQ_CHECK(false, "a call that this subject does not know");
  }
  Commit();
  return result;
}

std::string StateQueue::Dump() {
  const QueueCounts counts = state_->Counts();
  std::string text;
  for (const size_t count : {counts.queued, counts.processing, counts.delayed, counts.failing,
                             counts.quarantined, counts.stuck, counts.held_back}) {
    text += std::to_string(count) + " ";
  }
  Image image;
  const Status s = ReadImage(disk_, 1, &image);
  WQ_CHECK(s.ok(), s.message().c_str());
  return text + image.ToString();
}

}  // namespace wq::model
