#include "tests/model/naive_queue.h"

#include <algorithm>
#include <utility>

namespace wq::model {

NaiveQueue::NaiveQueue(const QueueOptions& options, int64_t wall_us)
    : first_options_(options), options_(options), wall_us_(wall_us) {}

std::string NaiveQueue::Do(const Call& call) {
  if (call.op == Op::kAddBatch) {
    std::vector<std::string> results;
    uint64_t stands_on = 0;
    for (const Call& add : AddsOf(call)) {
      results.push_back(Do(add));
      stands_on = std::max(stands_on, stands_on_);
    }
    stands_on_ = stands_on;
    return ResultOfBatch(results);
  }
  ++calls_;
  stands_on_ = 0;
  std::string result = call.keys.empty() ? DoCall(call) : ChangeMany(call);
  for (auto& [name, key] : keys_) {
    key.deaths = key.Known() || key.failures > 0 ? key.deaths : 0;
  }
  ForgetGroups();
  return result;
}

// Of a key that a worker holds only Add checks the length.
bool NaiveQueue::Refuses(const Call& call) const {
  const bool checks = call.op == Op::kAdd || call.op == Op::kAddAfter ||
                      call.op == Op::kAddRateLimited || call.op == Op::kQuarantine;
  return checks && (call.key.empty() || call.key.size() > options_.max_key_bytes) &&
         (call.op == Op::kAdd || !IsProcessing(call.key));
}

std::string NaiveQueue::DoCall(const Call& call) {
  if (Refuses(call)) {
    return "InvalidArgument";
  }
  switch (call.op) {
    case Op::kAdd:
      return Add(call);
    case Op::kAddAfter:
      return AddAfter(call);
    case Op::kAddRateLimited:
      stands_on_ = calls_;
      return AddRateLimited(call);
    case Op::kGet:
      return Get(call.shard);
    case Op::kTryGet:
      return TryGet(call.shard, call.limit);
    case Op::kDone:
      return Done(call.key);
    case Op::kPutBack:
      return PutBack(call.key);
    case Op::kPutBackDead:
      return PutBackDead(call);
    case Op::kAdvance:
      steady_us_ += call.delay_us;
      wall_us_ += call.delay_us;
      Fire();
      return "ok";
    case Op::kSetWall:
      wall_us_ += call.delay_us;
      return "ok";
    case Op::kCrash:
      Recover();
      Fire();
      return "ok";
    case Op::kReopen:
    case Op::kDeleteQueue:
      BeginReopening(call);
      Fire();
      // What the closing writes; what the opening changes is written later.
      stands_on_ = call.op == Op::kReopen ? calls_ - 1 : calls_;
      return "ok";
    case Op::kFlush:
      stands_on_ = calls_;
      return "ok";
    case Op::kObserve:
    case Op::kObserveDeleted:
      return Observe(call);
    case Op::kBeginList:
      stands_on_ = listed_ == Listed{call.version, call.key} ? 0 : calls_;
      listed_ = {call.version, call.key};
      listing_ = true;
      for (auto& [name, object] : objects_) {
        object.seen = false;
      }
      return "ok";
    case Op::kEndList:
      return EndList(call);
    case Op::kSetLimits:
      Reopen([&] { SetLimits(call.limits_of_queue, call.limits); });
      return "ok";
    default:
      return Change(call);
  }
}

// --- Adding ---

std::string NaiveQueue::Add(Call call, bool has_room) {
  if (LeavesAlone(call)) {
    return "deduplicated";
  }
  if (options_.debounce.quiet.count() > 0 && call.op == Op::kAdd) {
    return AddDebounced(call);
  }
  if (!has_room && IsFull(call.key)) {
    return "Full";
  }
  if (HoldsInQuarantine(&call)) {
    return "held";
  }
  SettleGroup(call.key, call.group);
  return AddKey(call);
}

bool NaiveQueue::LeavesAlone(const Call& add) {
  const Key& key = keys_[add.key];
  if (!add.if_absent || (!key.Known() && key.failures == 0)) {
    return false;
  }
  stands_on_ = std::max(stands_on_, key.queued || key.processing ? key.written : 0);
  stands_on_ = std::max(stands_on_, key.delay ? key.delay->written : 0);
  return true;
}

// Whether the key of the Add stays in quarantine. Otherwise it leaves it, with the group and the
// lane that it has.
bool NaiveQueue::HoldsInQuarantine(Call* add) {
  Key& key = keys_[add->key];
  if (!key.quarantined) {
    return false;
  }
  if (options_.quarantined_add == QuarantinedAdd::kHold) {
    return true;
  }
  add->group = key.group;
  const bool resync = add->op == Op::kAddAfter && add->mode == DelayMode::kResync;
  if (!add->lane && !(resync && add->delay_us > 0)) {
    add->lane = key.lane;
  }
  Release(&key);
  return false;
}

bool NaiveQueue::IsFull(const std::string& name) {
  const Key& key = keys_[name];
  const bool held = key.quarantined && options_.quarantined_add == QuarantinedAdd::kHold;
  return options_.max_pending > 0 && Pending().size() >= options_.max_pending && !key.queued &&
         !key.processing && !held;
}

std::string NaiveQueue::AddDebounced(Call call) {
  Key& key = keys_[call.key];
  if (key.Dirty()) {
    return AddKey(call);
  }
  if (HoldsInQuarantine(&call)) {
    return "held";
  }
  const bool waited = key.Delayed();
  DelayKey(call);
  return waited ? "deduplicated" : "added";
}

// The pending record of the key.
void NaiveQueue::Write(Key* key) const {
  key->written = calls_;
  key->stored_at_us = key->added_at_us;
}

// Returns whether one is new.
bool NaiveQueue::Merge(const std::vector<std::string>& more, std::vector<std::string>* reasons) {
  bool merged = false;
  for (const std::string& reason : more) {
    if (std::find(reasons->begin(), reasons->end(), reason) == reasons->end()) {
      reasons->push_back(reason);
      merged = true;
    }
  }
  return merged;
}

// A key that has failed is tried again for the reasons of the attempt.
std::vector<std::string> NaiveQueue::ReasonsOf(const Call& call, const Key& key) {
  std::vector<std::string> reasons;
  if (call.op == Op::kAddRateLimited) {
    reasons = key.held_reasons;
  }
  if (!call.reason.empty()) {
    Merge({call.reason}, &reasons);
  }
  return reasons;
}

// The key is not dirty any more. The record of a key that a worker holds is written without them.
void NaiveQueue::ForgetReasons(Key* key) {
  if (!key->reasons.empty() && key->processing) {
    Write(key);
    stands_on_ = calls_;
  }
  key->reasons.clear();
}

Lane NaiveQueue::WantedLane(const Key& key, std::optional<Lane> lane) const {
  const Lane wanted = lane.value_or(key.KnownLane());
  return options_.re_add == ReAdd::kRaisesLane && key.Delayed() ? std::max(wanted, key.delay->lane)
                                                                : wanted;
}

std::string NaiveQueue::AddKey(const Call& call) {
  Key& key = keys_[call.key];
  const Lane wanted = WantedLane(key, call.lane);
  bool changed = Merge(ReasonsOf(call, key), &key.reasons);
  const bool cancels = key.Delayed() && options_.merge_delays;
  if (cancels) {
    key.delay.reset();
    changed = Merge(std::exchange(key.delay_reasons, {}), &key.reasons) || changed;
  }
  const std::string result = MakeDirty(call.key, wanted, changed);
  stands_on_ = cancels ? calls_ : std::max(stands_on_, key.written);
  return result;
}

std::string NaiveQueue::MakeDirty(const std::string& name, Lane lane, bool reasons_changed) {
  Key& key = keys_[name];
  const bool moves = lane != key.lane && (options_.re_add == ReAdd::kSetsLane || lane > key.lane);
  if (key.processing) {
    key.added_at_us = key.again ? key.added_at_us : wall_us_;
    if (moves || (!key.again && lane != key.lane)) {
      key.lane = lane;
      Write(&key);
    }
    if (reasons_changed) {
      Write(&key);
    }
    return std::exchange(key.again, true) ? "deduplicated" : "added";
  }
  if (!key.queued) {
    key.added_at_us = wall_us_;
    Enqueue(name, lane);
    return "added";
  }
  if (moves) {
    Dequeue(name);
    key.queued = true;
    key.lane = lane;
    key.QueueAt(++last_place_);
    TakeTurn(name);
    Write(&key);
  }
  if (reasons_changed) {
    Write(&key);
  }
  return "deduplicated";
}

std::string NaiveQueue::AddAfter(Call call) {
  if (call.delay_us <= 0) {
    return Add(call);
  }
  if (LeavesAlone(call)) {
    return "deduplicated";
  }
  if (HoldsInQuarantine(&call)) {
    return "held";
  }
  return DelayKey(call);
}

std::string NaiveQueue::DelayKey(const Call& call) {
  Key& key = keys_[call.key];
  SettleGroup(call.key, call.group);
  if (options_.merge_delays && key.Dirty() && call.mode != DelayMode::kResync) {
    return AddKey(call);
  }
  const bool changed = Merge(ReasonsOf(call, key), &key.delay_reasons);
  const bool gathered = call.op == Op::kAdd;
  const bool resync = call.mode == DelayMode::kResync;
  const Lane lane = resync ? call.lane.value_or(ResyncLane()) : WantedLane(key, call.lane);
  bool goes_on = false;
  bool stays = false;
  int64_t due_us = steady_us_ + (gathered ? options_.debounce.quiet.count()
                                 : resync ? SpreadResync(call.key, call.delay_us)
                                          : call.delay_us);
  if (key.Delayed()) {
    goes_on = key.delay->debounced && (gathered || call.mode == DelayMode::kEarliest);
    const int64_t old_us = key.delay->due_us;
    if (gathered && key.delay->debounced) {
      due_us = std::min(due_us, key.delay->BegunUs() + options_.debounce.max_wait.count());
      stays = old_us <= steady_us_ || due_us == old_us;
      due_us = std::max(due_us, steady_us_);
    } else {
      stays = resync                              ? true
              : call.mode == DelayMode::kEarliest ? old_us <= due_us
                                                  : old_us == due_us;
    }
  }
  if (stays) {
    if (call.lane && !resync) {
      key.delay->written = lane != key.delay->lane ? calls_ : key.delay->written;
      key.delay->lane = lane;
    }
    key.delay->written = changed ? calls_ : key.delay->written;
    key.delay->stored_lane =
        key.delay->written == calls_ ? key.delay->lane : key.delay->stored_lane;
    stands_on_ = std::max(stands_on_, key.delay->written);
    return "deduplicated";
  }
  const int64_t begun_us = goes_on ? key.delay->BegunUs() : steady_us_;
  const int64_t ready_at_us = wall_us_ + due_us - steady_us_;
  if (resync) {
    SetResync(&key, due_us - steady_us_, lane);
    stands_on_ = calls_;
    return "added";
  }
  key.delay = Delay{.due_us = due_us,
                    .ready_at_us = ready_at_us,
                    .delay_us = due_us - begun_us,
                    .lane = lane,
                    .stored_lane = lane,
                    .written = calls_,
                    .place = ++last_place_,
                    .begun_at_us = ready_at_us - (due_us - begun_us),
                    .debounced = gathered || goes_on};
  stands_on_ = calls_;
  return "added";
}

std::string NaiveQueue::AddRateLimited(const Call& call) {
  Key& key = keys_[call.key];
  ++limiter_calls_;
  if (key.quarantined) {
    return "held";
  }
  SettleGroup(call.key, call.group);
  ++key.failures;
  if (options_.max_requeues > 0 && key.failures > options_.max_requeues) {
    const std::string settled = key.group;
    Quarantine(call.key);
    key.group = settled;
    return "held";
  }
  return call.delay_us <= 0 ? AddKey(call) : DelayKey(call);
}

// A known key keeps its group.
void NaiveQueue::SettleGroup(const std::string& name, const std::string& group) {
  if (!keys_[name].Known()) {
    keys_[name].group = group;
  }
}

// --- The other changes ---

std::string NaiveQueue::Change(const Call& call) {
  Key& key = keys_[call.key];
  stands_on_ = calls_;
  switch (call.op) {
    case Op::kForget:
      stands_on_ = key.failures > 0 && !key.quarantined ? calls_ : 0;
      if (!key.quarantined) {
        key.failures = 0;
      }
      return "ok";
    case Op::kRemove:
      return Remove(call.key);
    case Op::kCancelDelay:
      stands_on_ = key.delay ? calls_ : 0;
      key.delay_reasons.clear();
      return std::exchange(key.delay, std::nullopt) ? "ok" : "NotFound";
    case Op::kEndDelay:
      stands_on_ = key.delay ? calls_ : 0;
      return key.delay ? FireOne(call.key) : "NotFound";
    case Op::kQuarantine:
      stands_on_ = 0;
      if (!key.quarantined) {
        Quarantine(call.key);
      }
      return "ok";
    case Op::kRelease: {
      if (!key.quarantined) {
        stands_on_ = 0;
        return "NotFound";
      }
      const Lane lane = key.lane;
      const std::string group = key.group;
      Release(&key);
      if (call.delay_us > 0) {
        DelayKey({.op = Op::kAddAfter,
                  .key = call.key,
                  .lane = lane,
                  .delay_us = call.delay_us,
                  .group = group});
      } else {
        MakeDirty(call.key, lane);
      }
      return "ok";
    }
    case Op::kDrop:
      stands_on_ = key.quarantined ? calls_ : 0;
      if (!key.quarantined) {
        return "NotFound";
      }
      Release(&key);
      return "ok";
    case Op::kDelete:
      return Delete(call.key);
    case Op::kPause:
      paused_ = true;
      pause_ends_us_.reset();
      if (call.delay_us > 0) {
        pause_ends_us_ = wall_us_ + call.delay_us;
        paused_for_us_ = call.delay_us;
        paused_at_us_ = wall_us_;
        pause_due_us_ = steady_us_ + call.delay_us;
      }
      return "ok";
    case Op::kResume:
      stands_on_ = paused_ ? calls_ : 0;
      paused_ = false;
      return "ok";
    case Op::kSetCursor:
      cursors_["c"] = call.key;
      return "ok";
    default:
      return "?";
  }
}

std::string NaiveQueue::ChangeMany(const Call& call) {
  uint64_t done = 0;
  std::string absent;
  for (size_t i = 0; i < call.keys.size(); ++i) {
    Call one = call;
    one.key = call.keys[i];
    const Key& key = keys_[one.key];
    const bool none = call.op == Op::kForget && (key.failures == 0 || key.quarantined);
    if (!none && Change(one) == "ok") {
      ++done;
    } else {
      absent += " " + std::to_string(i);
    }
    ForgetGroups();
  }
  stands_on_ = calls_;
  return std::to_string(done) + " done, absent" + absent;
}

std::string NaiveQueue::Remove(const std::string& name) {
  Key& key = keys_[name];
  stands_on_ = 0;
  if (key.processing) {
    ForgetReasons(&key);
    key.deaths = key.again ? 0 : key.deaths;
    return std::exchange(key.again, false) ? "ok" : "NotFound";
  }
  if (!key.queued) {
    return "NotFound";
  }
  Dequeue(name);
  key.reasons.clear();
  key.deaths = 0;
  stands_on_ = calls_;
  return "ok";
}

std::string NaiveQueue::Delete(const std::string& name) {
  Key& key = keys_[name];
  const bool known = key.Known() || key.failures > 0;
  const bool on_disk_alone =
      known && (!key.processing || key.delay || key.quarantined || key.failures > 0 ||
                !key.reasons.empty());  // Not the record that Done erases.
  if (key.queued) {
    Remove(name);
  }
  ForgetReasons(&key);
  key.again = false;
  key.deleted = key.processing;
  key.delay.reset();
  key.delay_reasons.clear();
  Release(&key);
  stands_on_ = on_disk_alone ? calls_ : 0;
  return known ? "ok" : "NotFound";
}

// While a key is quarantined, its `lane` is the one for Release.
void NaiveQueue::Quarantine(const std::string& name) {
  Key& key = keys_[name];
  key.group = key.Known() ? key.group : "";
  const Lane lane = key.KnownLane();
  key.delay.reset();
  key.delay_reasons.clear();
  key.again = false;
  if (key.queued) {
    Remove(name);
  }
  ForgetReasons(&key);
  key.deaths = 0;
  key.quarantined = true;
  key.lane = key.stored_lane = lane;
  stands_on_ = calls_;
}

void NaiveQueue::Release(Key* key) {
  key->quarantined = false;
  key->failures = 0;
}

}  // namespace wq::model
