#include "tests/model/real_queue.h"

#include "storage/check.h"
#include "storage/records.h"
#include "wq/limiter.h"

namespace wq::model {
namespace {

std::string Said(const Status& status) {
  return status.ok() ? "ok" : std::string(StatusCodeName(status.code()));
}

std::string Said(const Status& status, AddOutcome outcome) {
  if (!status.ok()) {
    return Said(status);
  }
  return outcome == AddOutcome::kAdded ? "added" : "deduplicated";
}

}  // namespace

RealQueue::RealQueue() { Open(); }

void RealQueue::Open() {
  StoreOptions options;
  options.clock = &clock_;
  Status s =
      Store::Rep::Open(options, "", std::make_unique<storage::MemoryStorage>(disk_), &store_);
  WQ_CHECK(s.ok(), s.message().c_str());
  s = store_->OpenQueue("q", {.order = Order::kTwoLanes, .limiter = limiter_}, &queue_);
  WQ_CHECK(s.ok(), s.message().c_str());
  static_cast<void>(queue_->Len());  // Fires what is due.
}

std::string RealQueue::Do(const Call& call) {
  const AddOptions options{.lane = call.lane};
  AddOutcome outcome = AddOutcome::kAdded;
  switch (call.op) {
    case Op::kAdd: {
      const Status s = queue_->Add(call.key, options, &outcome);
      return Said(s, outcome);
    }
    case Op::kAddAfter: {
      const Status s =
          queue_->AddAfter(call.key, std::chrono::microseconds(call.delay_us), options, &outcome);
      return Said(s, outcome);
    }
    case Op::kAddRateLimited:
      limiter_->delay = std::chrono::microseconds(call.delay_us);
      return Said(queue_->AddRateLimited(call.key, "error", options));
    case Op::kForget:
      return Said(queue_->Forget(call.key));
    case Op::kGet: {
      std::string key;
      const Status s = queue_->GetFor(std::chrono::microseconds(0), &key);
      return s.ok() ? key : s.code() == StatusCode::kTimedOut ? "none" : Said(s);
    }
    case Op::kDone:
      return Said(queue_->Done(call.key));
    case Op::kAdvance:
      clock_.Advance(std::chrono::microseconds(call.delay_us));
      static_cast<void>(queue_->Len());  // Fires what is due.
      return "ok";
    case Op::kSetWall:
      clock_.SetWall(clock_.WallUs() + call.delay_us);
      return "ok";
    case Op::kCrash: {
      // Everything so far reached the disk; nothing after it does.
      const Status s = queue_->Flush(Durability::kProcess);
      {
        const std::lock_guard lock(disk_->mu);
        disk_->fail_after = 0;
      }
      store_.reset();
      {
        const std::lock_guard lock(disk_->mu);
        disk_->fail_after = UINT64_MAX;
      }
      Open();
      return Said(s);
    }
  }
  return "?";
}

std::string RealQueue::Dump() {
  Status s = queue_->Flush(Durability::kProcess);
  WQ_CHECK(s.ok(), "the disk of maps does not fail");
  const storage::MemoryStorage disk(disk_);
  const QueueCounts counts = queue_->Counts();
  std::string text;
  for (const size_t count : {counts.queued, counts.processing, counts.delayed, counts.failing}) {
    text += std::to_string(count) + " ";
  }
  constexpr storage::QueueId kId = 1;
  text += "| pending";
  s = storage::ScanPending(disk, kId, [&](const storage::PendingRecord& r) {
    text += " " + std::string(r.key) + "@" + std::to_string(r.lane);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | delayed";
  s = storage::ScanDelayed(disk, kId, [&](const storage::DelayedRecord& r) {
    text += " " + std::string(r.key) + "@" + std::to_string(r.lane) + "+" +
            std::to_string(r.ready_at_us - clock_.WallUs());
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | failing";
  s = storage::ScanFailures(disk, kId, [&](const storage::FailureRecord& r) {
    text += " " + std::string(r.key) + "=" + std::to_string(r.count);
    WQ_CHECK(queue_->NumRequeues(r.key) == r.count, "memory and disk count failures differently");
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  return text;
}

}  // namespace wq::model
