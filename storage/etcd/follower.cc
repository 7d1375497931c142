#include "storage/etcd/follower.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "storage/etcd/answer.h"
#include "storage/etcd/request.h"

namespace wq::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// After a failure; doubled for each further one.
constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{1000};
// Of so many entries the revisions are kept.
constexpr size_t kDelivered = 4096;
constexpr size_t kStepBackBatch = 64;  // A transaction of etcd has at most 128 operations.

}  // namespace

Follower::Follower(std::shared_ptr<Client> client, const Keys& keys, LogSequence sequence)
    : client_(std::move(client)), keys_(keys), next_(sequence) {}

Follower::~Follower() {
  Close();
  {
    const MutexLock lock(mu_);
    alarm_ = nullptr;  // Cancels it, so that its event comes.
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

void Follower::Interrupt() {
  const MutexLock lock(mu_);
  if (alarm_ == nullptr) {
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(&queue_, gpr_now(GPR_CLOCK_MONOTONIC), Address(Tag::kInterrupt));
  }
}

Status Follower::Next(milliseconds timeout, LogEvents* events) {
  const Deadline now = steady_clock::now();
  const Deadline deadline = now + timeout;
  if (truncated_) {
    return *truncated_;
  }
  if (stream_ != nullptr && now - last_return_ > kSilence / 2) {
    // What came in the meantime is read only now.
    stream_->silent_until = std::max(stream_->silent_until, now + kAnswer);
  }
  interrupted_ = false;
  if (stream_ == nullptr && !WaitForAttempt(deadline)) {
    return interrupted_ ? Status::Ok() : failure_;
  }
  LogEvents found;
  Status s = Step(deadline, &found);
  // What came before a failure is delivered, too.
  std::move(found.entries.begin(), found.entries.end(), std::back_inserter(events->entries));
  if (found.owner) events->owner = std::move(found.owner);
  if (found.successor) events->successor = std::move(found.successor);
  last_return_ = steady_clock::now();
  pause_ = s.ok() ? milliseconds(0) : std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  failure_ = s;
  if (!s.ok()) {
    Close();
    next_attempt_ = last_return_ + pause_;
    if (s.code() == StatusCode::kNotFound) truncated_ = s;
  }
  return s;
}

Status Follower::Step(Deadline deadline, LogEvents* events) {
  do {
    bool more = false;
    if (stream_ == nullptr) {
      Status s = ReadPage(events, &more);
      if (s.ok() && !more) s = Open();
      if (!s.ok()) {
        return s;
      }
    }
    Status s = more ? Status::Ok() : Watch(deadline, events);
    if (!s.ok() || Any(*events)) {
      return s;
    }
  } while (stream_ == nullptr && !interrupted_ && steady_clock::now() < deadline);
  return {};
}

bool Follower::WaitForAttempt(Deadline deadline) {
  while (!interrupted_) {
    const Deadline now = steady_clock::now();
    if (failure_.ok() || now >= next_attempt_) {
      return true;
    }
    Tag tag{};
    bool ok = false;
    if (!Wait(std::min(deadline, next_attempt_), &tag, &ok) && next_attempt_ > deadline) {
      return false;
    }
  }
  return false;
}

bool Follower::Wait(Deadline deadline, Tag* tag, bool* ok) {
  void* event = nullptr;
  if (queue_.AsyncNext(&event, ok, ForGrpc(deadline)) != grpc::CompletionQueue::GOT_EVENT) {
    return false;
  }
  *tag = *static_cast<Tag*>(event);
  if (*tag == Tag::kInterrupt) {
    interrupted_ = true;
    const MutexLock lock(mu_);
    alarm_ = nullptr;
  }
  return true;
}

Status Follower::ReadPage(LogEvents* events, bool* more) {
  if (Status s = StepBack(); !s.ok()) {
    return s;
  }
  pb::TxnRequest txn;
  Get(keys_.Owner(), txn.add_success());
  Get(keys_.Successor(), txn.add_success());
  Get(keys_.First(), txn.add_success());
  GetAll(keys_.EntriesFrom(next_), kPageEntries, false, txn.add_success());
  pb::TxnResponse answer;
  if (Status s = client_->Txn(txn, client_->NewDeadline(), &answer); !s.ok()) {
    return s;
  }
  LogSequence first = 1;
  Status s = ReadFirst(Found(answer, 2), &first);
  if (s.ok() && next_ < first) {
    return Status::NotFound("entry " + std::to_string(next_) + " was truncated; the first is " +
                            std::to_string(first));
  }
  const pb::RangeResponse& entries = answer.responses(3).response_range();
  std::vector<LogEntry> checked;
  if (s.ok()) s = TakeEntries(keys_, entries, next_, &checked);
  if (s.ok()) s = SetOwner(Found(answer, 0), events);
  if (s.ok()) s = SetSuccessor(Found(answer, 1), events);
  if (!s.ok()) {
    return s;
  }
  for (const pb::KeyValue& kv : entries.kvs()) {
    Deliver(kv, events);
  }
  revision_ = answer.header().revision();
  *more = entries.more();
  return {};
}

Status Follower::StepBack() {
  while (!delivered_.empty()) {
    const size_t batch = std::min(delivered_.size(), kStepBackBatch);
    const size_t begin = delivered_.size() - batch;
    pb::TxnRequest txn;
    for (size_t i = begin; i < delivered_.size(); ++i) {
      pb::RequestOp* const op = txn.add_success();
      Get(keys_.Entry(delivered_[i].sequence), op);
      op->mutable_request_range()->set_keys_only(true);
    }
    Get(keys_.First(), txn.add_success());
    pb::TxnResponse answer;
    LogSequence first = 1;
    Status s = client_->Txn(txn, client_->NewDeadline(), &answer);
    if (s.ok()) s = ReadFirst(Found(answer, static_cast<int>(batch)), &first);
    if (!s.ok()) {
      return s;
    }
    for (size_t i = batch; i-- > 0;) {
      const pb::KeyValue* const kv = Found(answer, static_cast<int>(i));
      const Delivered& last = delivered_.back();
      if (last.sequence < first ||  // Only whole groups are truncated, which are never erased.
          (kv != nullptr && kv->mod_revision() == last.revision)) {
        return {};
      }
      next_ = last.sequence;
      delivered_.pop_back();
    }
  }
  return {};
}

void Follower::Deliver(const pb::KeyValue& kv, LogEvents* events) {
  events->entries.push_back({next_, kv.value()});
  delivered_.push_back({next_, kv.mod_revision()});
  if (delivered_.size() > kDelivered) {
    delivered_.pop_front();
  }
  ++next_;
}

Status Follower::SetOwner(const pb::KeyValue* kv, LogEvents* events) {
  LogOwner owner;
  if (Status s = ReadOwner(kv, &owner); !s.ok()) {
    return s;
  }
  if (!owner_ || owner_->epoch != owner.epoch || owner_->name != owner.name) {
    owner_ = owner;
    events->owner = std::move(owner);
  }
  return {};
}

Status Follower::SetSuccessor(const pb::KeyValue* kv, LogEvents* events) {
  std::string successor;
  if (Status s = ReadSuccessor(kv, &successor); !s.ok()) {
    return s;
  }
  if (!successor_ || *successor_ != successor) {
    successor_ = successor;
    events->successor = std::move(successor);
  }
  return {};
}

}  // namespace wq::etcd
