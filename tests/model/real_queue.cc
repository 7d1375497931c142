#include "tests/model/real_queue.h"

#include <map>
#include <vector>

#include "base/check.h"
#include "storage/records.h"
#include "tests/model/image.h"
#include "wq/internal/queue_calls.h"
#include "wq/limiter.h"
#include "wq/queue_access.h"

namespace wq::model {
namespace {

std::string ResultOf(const Status& status) {
  return status.ok() ? "ok" : std::string(StatusCodeName(status.code()));
}

std::string ResultOf(const Status& status, AddOutcome outcome) {
  if (!status.ok()) {
    return ResultOf(status);
  }
  return outcome == AddOutcome::kAdded          ? "added"
         : outcome == AddOutcome::kDeduplicated ? "deduplicated"
                                                : "held";
}

}  // namespace

Status RealQueue::Open(Store* store, const std::string& name, Durability durability) {
  store_ = store;
  limiter_ = std::make_shared<CallsDelay>();
  options_.durability = durability;
  options_.limiter = limiter_;
  if (Status s = store->OpenQueue(name, options_, &queue_); !s.ok()) {
    return s;
  }
  if (Status s = queue_->OpenSource("s", &source_); !s.ok()) {
    return s;
  }
  // As many workers as shards: each worker gets one shard.
  std::vector<std::unique_ptr<Worker>> workers(options_.shards);
  for (auto& worker : workers) {
    if (Status s = queue_->Join(&worker); !s.ok()) {
      return s;
    }
  }
  workers_.resize(options_.shards);
  for (auto& worker : workers) {
    const uint32_t shard = worker->Shards().front();
    workers_[shard] = std::move(worker);
  }
  static_cast<void>(queue_->Len());  // Fires what is due.
  return {};
}

Status RealQueue::Get(uint32_t shard, std::string* key) {
  constexpr std::chrono::microseconds kNow(0);
  return workers_.empty() ? queue_->GetFor(kNow, key) : workers_[shard]->GetFor(kNow, key);
}

std::string RealQueue::TryGet(uint32_t shard, uint64_t limit) {
  std::vector<HeldKey> keys;
  const Status s =
      workers_.empty() ? queue_->TryGet(limit, &keys) : workers_[shard]->TryGet(limit, &keys);
  if (!s.ok()) {
    return s.code() == StatusCode::kTimedOut ? "none" : ResultOf(s);
  }
  std::string text;
  for (const HeldKey& key : keys) {
    text += key.key + "@" + std::to_string(key.lane) + "/" + key.group + "=" +
            std::to_string(key.failures);
    for (const Cause& cause : key.causes.list) {
      text += "," + cause.reason;
    }
    text += " ";
  }
  return text;
}

std::string RealQueue::AddBatch(const Call& call, const AddOptions& options) {
  const std::vector<std::string_view> keys(call.keys.begin(), call.keys.end());
  BatchResult result;
  const std::chrono::microseconds delay(call.delay_us);
  const Status s = call.delay_us > 0 ? AccessTo(queue_)->Add(keys, options, delay, &result)
                                     : queue_->AddBatch(keys, options, &result);
  if (!s.ok()) {
    return ResultOf(s);
  }
  std::string refused;
  for (const auto& [i, why] : result.refused) {
    refused += " " + std::to_string(i) + ":" + ResultOf(why);
  }
  return std::to_string(result.added) + "+" + std::to_string(result.deduplicated) + "+" +
         std::to_string(result.held) + refused;
}

std::string RealQueue::ChangeMany(const Call& call) {
  const std::vector<std::string_view> keys(call.keys.begin(), call.keys.end());
  const std::map<Op, KeyChange> changes = {
      {Op::kForget, KeyChange::kForget},   {Op::kRemove, KeyChange::kRemove},
      {Op::kDelete, KeyChange::kDelete},   {Op::kCancelDelay, KeyChange::kCancelDelay},
      {Op::kRelease, KeyChange::kRelease}, {Op::kEndDelay, KeyChange::kRequeue},
      {Op::kDrop, KeyChange::kDrop}};
  ChangeResult result;
  const Status s = AccessTo(queue_)->Change(
      changes.at(call.op), keys,
      {.durability = options_.durability, .delay = std::chrono::microseconds(call.delay_us)},
      &result);
  if (!s.ok()) {
    return ResultOf(s);
  }
  std::string text = std::to_string(result.done) + " done, absent";
  for (const size_t index : result.absent) {
    text += " " + std::to_string(index);
  }
  return text;
}

std::string RealQueue::Reopen(const Call& call) {
  const std::string name = queue_->name();
  Drop();
  Status s = store_->CloseQueue(queue_);
  if (s.ok() && call.op == Op::kDeleteQueue) {
    s = store_->DeleteQueue(name);
  } else if (s.ok()) {
    const Durability durability = options_.durability;
    options_ = OptionsOf(first_options_, call.reopening);
    options_.durability = durability;
  }
  return ResultOf(s.ok() ? Open(store_, name, options_.durability) : s);
}

std::string RealQueue::Observe(const Call& call, const AddOptions& options) {
  if (call.op == Op::kBeginList) {
    return ResultOf(source_.BeginList({.scope = call.key, .fingerprint = call.version}, &list_));
  }
  if (call.op == Op::kEndList) {
    const Status s = list_ == nullptr ? Status::InvalidArgument("") : list_->End(options);
    if (s.ok()) {
      list_.reset();
    }
    return ResultOf(s);
  }
  const std::vector<std::string_view> keys(call.observed.begin(), call.observed.end());
  SeenObject before;
  const Observation observation{.object = call.key,
                                .version = call.version,
                                .keys = keys,
                                .tombstone = call.tombstone,
                                .filtered = call.filtered,
                                .before = call.asks_before ? &before : nullptr};
  ObserveResult result;
  const Status s = call.op == Op::kObserveDeleted
                       ? source_.ObserveDeleted(call.key, keys, options, &result)
                   : list_ != nullptr ? list_->Observe(observation, options, &result)
                                      : source_.Observe(observation, options, &result);
  if (s.ok() && !before.object.empty()) {
    std::string text = "was " + before.version + " " + before.tombstone;
    for (const std::string& key : before.keys) {
      text += " " + key;
    }
    return text;
  }
  return s.ok() ? (result.changed ? "changed " : "unchanged ") + std::to_string(result.added) +
                      "+" + std::to_string(result.deduplicated) + "+" + std::to_string(result.held)
                : ResultOf(s);
}

std::string RealQueue::Do(const Call& call) {
  const AddOptions options{
      .lane = call.lane,
      .durability = call.durability,
      .group = call.group.empty() ? std::nullopt : std::optional<std::string_view>(call.group),
      .delay_mode = call.mode,
      .reason = call.reason,
      .if_absent = call.if_absent};
  AddOutcome outcome = AddOutcome::kAdded;
  if (IsOfMany(call.op) && !call.keys.empty()) {
    return ChangeMany(call);
  }
  switch (call.op) {
    case Op::kAdd: {
      const Status s = queue_->Add(call.key, options, &outcome);
      return ResultOf(s, outcome);
    }
    case Op::kAddAfter: {
      const Status s =
          queue_->AddAfter(call.key, std::chrono::microseconds(call.delay_us), options, &outcome);
      return ResultOf(s, outcome);
    }
    case Op::kAddRateLimited: {
      limiter_->delay = std::chrono::microseconds(call.delay_us);
      const Status s = queue_->AddRateLimited(call.key, "error", options, &outcome);
      return ResultOf(s, outcome);
    }
    case Op::kForget:
      return ResultOf(queue_->Forget(call.key));
    case Op::kGet: {
      std::string key;
      const Status s = Get(call.shard, &key);
      return s.ok() ? key : s.code() == StatusCode::kTimedOut ? "none" : ResultOf(s);
    }
    case Op::kTryGet:
      return TryGet(call.shard, call.limit);
    case Op::kDone:
      return ResultOf(queue_->Done(call.key));
    case Op::kPutBack:
      return ResultOf(queue_->PutBack(call.key));
    case Op::kPutBackDead:
      limiter_->delay = std::chrono::microseconds(call.delay_us);
      {
        bool failed = false;
        return ResultOf(PutBackDead(queue_, call.key, &failed));
      }
    case Op::kAdvance:
      clock_->Advance(std::chrono::microseconds(call.delay_us));
      static_cast<void>(queue_->Len());  // Fires what is due.
      return "ok";
    case Op::kSetWall:
      clock_->SetWall(clock_->WallUs() + call.delay_us);
      return "ok";
    case Op::kRemove:
      return ResultOf(queue_->Remove(call.key));
    case Op::kCancelDelay:
      return ResultOf(queue_->CancelDelay(call.key));
    case Op::kEndDelay:
      return ResultOf(queue_->EndDelay(call.key));
    case Op::kQuarantine:
      return ResultOf(queue_->Quarantine(call.key, "by hand"));
    case Op::kRelease:
      return ResultOf(queue_->ReleaseAfter(call.key, std::chrono::microseconds(call.delay_us)));
    case Op::kDrop:
      return ResultOf(queue_->Drop(call.key));
    case Op::kDelete:
      return ResultOf(queue_->Delete(call.key));
    case Op::kPause:
      return ResultOf(call.delay_us > 0 ? queue_->Pause(std::chrono::microseconds(call.delay_us))
                                        : queue_->Pause());
    case Op::kResume:
      return ResultOf(queue_->Resume());
    case Op::kSetLimits:
      return ResultOf(SetLimits(queue_, call.limits_of_queue, call.limits));
    case Op::kSetCursor:
      return ResultOf(queue_->SetCursor("c", call.key));
    case Op::kFlush:
      return ResultOf(queue_->Flush(call.durability.value_or(Durability::kPower)));
    case Op::kAddBatch:
      return AddBatch(call, options);
    case Op::kReopen:
    case Op::kDeleteQueue:
      return Reopen(call);
    case Op::kObserve:
    case Op::kObserveDeleted:
    case Op::kBeginList:
    case Op::kEndList:
      return Observe(call, options);
    case Op::kCrash:
      break;
  }
  return "?";
}

void MapQueue::Open() {
  StoreOptions options;
  options.clock = &clock_;
  buffers_.ApplyTo(&options);
  options.recovery_backoff_min = std::chrono::hours(1);  // Only Recover makes an attempt.
  Status s =
      Store::Impl::Open(options, "", std::make_unique<storage::MemoryStorage>(disk_), &store_);
  WQ_CHECK(s.ok(), s.message().c_str());
  s = queue_.Open(store_.get(), "q", Durability::kProcess);
  WQ_CHECK(s.ok(), s.message().c_str());
}

std::string MapQueue::Do(const Call& call) {
  if (call.op != Op::kCrash) {
    return queue_.Do(call);
  }
  // The effects of earlier calls are on disk; nothing is written after this.
  const Status s = queue_.queue()->Flush(Durability::kProcess);
  Crash();
  return ResultOf(s);
}

void MapQueue::Crash() {
  OnDisk([](DiskState& disk) {
    disk.fail_after = 0;
    disk.apply_failed = false;
  });
  queue_.Drop();
  store_.reset();
  OnDisk([](DiskState& disk) { disk.fail_after = UINT64_MAX; });
  Open();
}

Image MapQueue::Records() const {
  Image image;
  const Status s = ReadImage(storage::MemoryStorage(disk_), "q", &image);
  WQ_CHECK(s.ok(), s.message().c_str());
  return image;
}

std::string MapQueue::Dump() {
  Queue* queue = queue_.queue();
  const Status s = queue->Flush(Durability::kProcess);
  WQ_CHECK(s.ok(), "the disk of maps does not fail");
  const QueueCounts counts = queue->Counts();
  std::string text;
  for (const size_t count : {counts.queued, counts.processing, counts.delayed, counts.failing,
                             counts.quarantined, counts.stuck, counts.held_back}) {
    text += std::to_string(count) + " ";
  }
  const Image image = Records();
  for (const auto& [key, failures] : image.failing) {
    WQ_CHECK(queue->NumRequeues(key) == failures, "memory and disk count failures differently");
  }
  return text + image.ToString();
}

}  // namespace wq::model
