// FaultyLog: a ReplicatedLog over another one, as one process reaches it over a network that fails.
// Processes that share a log have a FaultyLog each.
//
//   const auto log = std::make_shared<support::MemoryLog>(&clock);
//   const auto link = std::make_shared<support::FaultyLog>(log);  // node-1's.
//   link->SetHook([](std::string_view call) {
//     return call == "Append" ? FaultyLog::Fault::kAfter : FaultyLog::Fault::kNone;
//   });
//   link->FailNext(2, FaultyLog::Fault::kBefore);
//   link->Cut(true);  // Until Cut(false) no call reaches the log, and no event the followers.
//   link->Replay(random());
//
// Thread-safe. Lifetime: its followers must not outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "wq/replicated_log.h"

namespace wq::support {

class FaultyLog final : public ReplicatedLog {
 public:
  // What becomes of a call. All but kNone return IOError.
  enum class Fault : uint8_t {
    kNone,
    kBefore,  // It does not reach the log.
    kAfter,   // It is applied, and its answer is lost.
    kQuota,   // The log refuses it: it has no space.
  };
  // Is called before each call with the name of the ReplicatedLog's function, or with "Next" of a
  // follower, for which all faults are kBefore. It may block: the call is late. It must not call
  // this FaultyLog.
  using Hook = std::function<Fault(std::string_view call)>;

  explicit FaultyLog(std::shared_ptr<ReplicatedLog> log) : log_(std::move(log)) {}

  void SetHook(Hook hook) {
    const MutexLock lock(mu_);
    hook_ = std::make_shared<const Hook>(std::move(hook));
  }
  // The next `calls` calls that change the log have this fault.
  void FailNext(uint64_t calls, Fault fault) {
    const MutexLock lock(mu_);
    failing_ = calls;
    fault_ = fault;
  }
  void Cut(bool cut) {
    const MutexLock lock(mu_);
    cut_ = cut;
    for (LogFollower* follower : followers_) follower->Interrupt();
  }

  // Sends one of the owner's last changes that have reached the log again, as a packet that was
  // delayed; the answer is lost. `number` chooses it. It may come more than twice.
  void Replay(uint64_t number) {
    std::function<void()> request;
    {
      const MutexLock lock(mu_);
      if (requests_.empty()) return;
      request = requests_[number % requests_.size()];
    }
    request();
  }

  std::string Name() const override { return log_->Name(); }
  Status Claim(std::string* uuid) override {
    std::string claimed = *uuid;
    Status s = Change("Claim", [&] { return log_->Claim(&claimed); });
    if (s.ok()) *uuid = claimed;
    return s;
  }
  Status State(LogState* state) override {
    return Ask("State", [&] { return log_->State(state); });
  }
  std::vector<LogMember> Members() override {
    std::vector<LogMember> members;
    const Status s = Ask("Members", [&] {
      members = log_->Members();
      return Status::Ok();
    });
    if (!s.ok()) members = {{.endpoint = log_->Name(), .problem = s.message()}};
    return members;
  }
  Status Destroy(bool force) override {
    return Change("Destroy", [&] { return log_->Destroy(force); });
  }
  Status Acquire(std::string_view name, std::chrono::milliseconds lease, LogLease* owned) override {
    LogLease acquired;
    Status s = Change("Acquire", [&] { return log_->Acquire(name, lease, &acquired); });
    if (s.ok()) *owned = acquired;
    return s;
  }
  Status Renew(LogLease* owned) override {
    LogLease renewed = *owned;
    Status s = Change("Renew", [&] {
      Keep([this, copy = *owned]() mutable { static_cast<void>(log_->Renew(&copy)); });
      return log_->Renew(&renewed);
    });
    if (s.ok()) *owned = renewed;
    return s;
  }
  Status Release(const LogLease& owned) override {
    return Repeatable("Release", [this, owned] { return log_->Release(owned); });
  }
  Status SetSuccessor(std::string_view name) override {
    return Change("SetSuccessor", [&] { return log_->SetSuccessor(name); });
  }
  Status Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) override {
    return Repeatable("Append", [this, epoch, sequence, copy = std::string(bytes)] {
      return log_->Append(epoch, sequence, copy);
    });
  }
  Status EraseFrom(uint64_t epoch, LogSequence sequence) override {
    return Repeatable("EraseFrom",
                      [this, epoch, sequence] { return log_->EraseFrom(epoch, sequence); });
  }
  Status Truncate(uint64_t epoch, LogSequence sequence) override {
    return Repeatable("Truncate",
                      [this, epoch, sequence] { return log_->Truncate(epoch, sequence); });
  }
  Status Read(LogSequence sequence, size_t max_bytes, std::vector<LogEntry>* entries) override {
    return Ask("Read", [&] { return log_->Read(sequence, max_bytes, entries); });
  }
  std::unique_ptr<LogFollower> Follow(LogSequence sequence) override {
    return std::make_unique<Follower>(this, log_->Follow(sequence));
  }
  Status PutCheckpointPart(uint64_t epoch, std::string_view id, uint64_t index,
                           std::string_view bytes) override {
    return Repeatable("PutCheckpointPart",
                      [this, epoch, id_copy = std::string(id), index, copy = std::string(bytes)] {
                        return log_->PutCheckpointPart(epoch, id_copy, index, copy);
                      });
  }
  Status CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) override {
    return Repeatable("CommitCheckpoint", [this, epoch, checkpoint] {
      return log_->CommitCheckpoint(epoch, checkpoint);
    });
  }
  Status ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) override {
    return Ask("ReadCheckpointPart", [&] { return log_->ReadCheckpointPart(id, index, bytes); });
  }
  Status PutReplica(const LogReplica& replica) override {
    return Change("PutReplica", [&] { return log_->PutReplica(replica); });
  }
  Status RemoveReplica(std::string_view name) override {
    return Change("RemoveReplica", [&] { return log_->RemoveReplica(name); });
  }

 private:
  class Follower final : public LogFollower {
   public:
    Follower(FaultyLog* link, std::unique_ptr<LogFollower> follower)
        : link_(link), follower_(std::move(follower)) {
      const MutexLock lock(link_->mu_);
      link_->followers_.insert(follower_.get());
    }
    ~Follower() override {
      const MutexLock lock(link_->mu_);
      link_->followers_.erase(follower_.get());
    }

    Status Next(std::chrono::milliseconds timeout, LogEvents* events) override {
      if (link_->FaultOf("Next", false) != Fault::kNone) return link_->Lost("Next");
      if (Status s = follower_->Next(timeout, &held_); !s.ok()) return s;
      if (link_->IsCut()) return link_->Lost("Next");  // What is held is reported later.
      for (LogEntry& entry : held_.entries) events->entries.push_back(std::move(entry));
      if (held_.owner) events->owner = std::move(held_.owner);
      if (held_.successor) events->successor = std::move(held_.successor);
      held_ = {};
      return Status::Ok();
    }
    void Interrupt() override { follower_->Interrupt(); }

   private:
    FaultyLog* const link_;
    const std::unique_ptr<LogFollower> follower_;
    LogEvents held_;
  };

  bool IsCut() {
    const MutexLock lock(mu_);
    return cut_;
  }
  Fault FaultOf(std::string_view call, bool changes) {
    std::shared_ptr<const Hook> hook;
    {
      const MutexLock lock(mu_);
      hook = hook_;
    }
    const Fault fault = hook ? (*hook)(call) : Fault::kNone;
    const MutexLock lock(mu_);
    if (cut_) return Fault::kBefore;
    if (fault != Fault::kNone || !changes || failing_ == 0) return fault;
    --failing_;
    return fault_;
  }
  Status Lost(std::string_view call) const {
    return Status::IOError(log_->Name() + ": " + std::string(call) + " has got no answer");
  }

  template <typename Call>
  Status Run(std::string_view name, Fault fault, const Call& call) {
    if (fault == Fault::kNone) return call();
    if (fault == Fault::kQuota) {
      return Status::IOError(log_->Name() + ": " + std::string(name) + ": no space");
    }
    if (fault == Fault::kAfter) static_cast<void>(call());
    return Lost(name);
  }
  template <typename Call>
  Status Change(std::string_view name, const Call& call) {
    return Run(name, FaultOf(name, true), call);
  }
  // A change that is kept for Replay.
  template <typename Call>
  Status Repeatable(std::string_view name, const Call& call) {
    return Change(name, [&] {
      Keep([call] { static_cast<void>(call()); });
      return call();
    });
  }
  void Keep(std::function<void()> request) {
    constexpr size_t kKept = 16;  // Of more a random one makes way.
    const MutexLock lock(mu_);
    if (requests_.size() == kKept) {
      requests_[random_() % kKept] = std::move(request);
    } else {
      requests_.push_back(std::move(request));
    }
  }
  template <typename Call>
  Status Ask(std::string_view name, const Call& call) {
    const Fault fault = FaultOf(name, false);
    return Run(name, fault == Fault::kAfter ? Fault::kBefore : fault, call);
  }

  const std::shared_ptr<ReplicatedLog> log_;
  Mutex mu_;
  std::shared_ptr<const Hook> hook_ WQ_GUARDED_BY(mu_);
  uint64_t failing_ WQ_GUARDED_BY(mu_) = 0;  // How many more calls have fault_.
  Fault fault_ WQ_GUARDED_BY(mu_) = Fault::kNone;
  bool cut_ WQ_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> requests_ WQ_GUARDED_BY(mu_);
  std::minstd_rand random_ WQ_GUARDED_BY(mu_);
  std::set<LogFollower*> followers_ WQ_GUARDED_BY(mu_);  // Of the log.
};

}  // namespace wq::support
