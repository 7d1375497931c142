#include "engine/replication/replica_node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/resources.h"
#include "engine/commit/bounded_wait.h"
#include "wq/clock.h"

namespace wq {
namespace {

constexpr std::chrono::milliseconds kFollowFor{1000};
constexpr std::chrono::milliseconds kRetryWait{200};
constexpr std::chrono::milliseconds kReportInterval{500};
// How long a replica whose ownership could not begin leaves the log to the others. Not a lease: if
// they are away, or wait themselves, nobody owns it for as long.
constexpr std::chrono::milliseconds kNotBegunWait{1000};

int64_t Us(std::chrono::milliseconds time) { return std::chrono::microseconds(time).count(); }

}  // namespace

// What lives as long as an ownership.
struct ReplicaNode::Ownership {
  std::shared_ptr<Fence> fence;
  storage::ReplicatedStorage* storage = nullptr;  // The target's.
  std::unique_ptr<LeaseKeeper> keeper;
  std::unique_ptr<Maintenance> maintenance;
};

ReplicaNode::ReplicaNode(storage::LocalReplica* copy, Target* target, const Replication& options,
                         std::string uuid, Clock* clock)
    : copy_(copy), target_(target), options_(options), uuid_(std::move(uuid)), clock_(clock) {}

void ReplicaNode::Start() {
  thread_ = std::thread([this] { Run(); });
}

Status ReplicaNode::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    stop_copying_.store(true, std::memory_order_relaxed);
    if (follower_ != nullptr) {
      follower_->Interrupt();
    }
  }
  cv_.NotifyAll();
  if (thread_.joinable()) {
    thread_.join();
  }
  const MutexLock lock(mu_);
  return ended_ > 0 ? end_status_ : Status::Ok();
}

// --- Calls of the store ---

Status ReplicaNode::AwaitOwnership(std::chrono::microseconds timeout) {
  const auto deadline =
      SteadyClock::now() + std::clamp(timeout, std::chrono::microseconds(0), kMaxDelay);
  const MutexLock lock(mu_);
  for (bool in_time = true; owned_fence_ == nullptr || !owned_fence_->Holds();) {
    if (stopping_) {
      return Status::ShuttingDown("the store is closed");
    }
    if (!in_time) {
      return Status::TimedOut("replica '" + options_.name + "' does not own the store: " +
                              (!state_.log.ok()            ? state_.log.message()
                               : state_.owner_name.empty() ? std::string("nobody does")
                                                           : "'" + state_.owner_name + "' does"));
    }
    in_time = cv_.WaitUntil(mu_, deadline);
  }
  return {};
}

Status ReplicaNode::Resign() {
  const MutexLock lock(mu_);
  if (!may_resign_) {
    return Status::NotOwner("replica '" + options_.name + "' does not own the store");
  }
  const uint64_t ended = ended_;
  if (resign_.empty()) {
    resign_ = "resigned";
  }
  cv_.NotifyAll();
  while (ended_ == ended) {
    cv_.Wait(mu_);
  }
  return end_status_;
}

ReplicaState ReplicaNode::State() const {
  const MutexLock lock(mu_);
  ReplicaState state = state_;
  if (owned_storage_ != nullptr) {  // An owner has all of the log.
    state.applied = owned_storage_->sequence();
    state.applied_at_us = clock_->WallUs();
  }
  return state;
}

// --- The thread ---

void ReplicaNode::Run() {
  while (!Stopping()) {
    LogLease lease;
    int64_t sent_us = 0;
    Status status = Follow(&lease, &sent_us);
    SetProblem(status);
    if (status.ok()) {
      Own(lease, sent_us);
    } else {
      Pause(kRetryWait);
    }
  }
}

Status ReplicaNode::Prepare() {
  if (Status s = copy_->Recover(); !s.ok()) {
    return s;
  }
  copy_->DropUnfinished();
  LogState state;
  Status status = options_.log->State(&state);
  if (status.ok()) status = CheckLog(state);
  if (!status.ok() || (copy_->seeded() && !must_seed_)) {
    return status;
  }
  return Seed(state);
}

// Another log may have entries that follow on the last one here, and would be applied.
Status ReplicaNode::CheckLog(const LogState& state) const {
  const std::string log = options_.log->Name();
  if (state.store_uuid.empty()) {
    return Status::InvalidArgument(log +
                                   " is the log of no store: it was deleted, or its data was "
                                   "lost, or its prefix is not that of store " +
                                   uuid_);
  }
  if (state.store_uuid != uuid_) {
    return Status::InvalidArgument(log + " is the log of store " + state.store_uuid + ", not of " +
                                   uuid_);
  }
  const uint64_t applied = copy_->position().sequence;
  if (copy_->seeded() && state.last < applied) {
    return Status::Corruption(log + " ends with entry " + std::to_string(state.last) +
                              ", and this replica has applied entry " + std::to_string(applied) +
                              ": an older state of the log was restored");
  }
  return {};
}

Status ReplicaNode::Seed(const LogState& state) {
  if (!state.checkpoint.has_value()) {
    return Status::NotFound(options_.log->Name() +
                            " has no checkpoint yet, from which this replica could begin: the " +
                            "first replica of store " + uuid_ + " writes it. If its directory is " +
                            "lost, nothing was acknowledged: run wqctl replication destroy, and " +
                            "begin in new directories");
  }
  Status status = copy_->Seed(options_.log.get(), *state.checkpoint, stop_copying_);
  must_seed_ = must_seed_ && !status.ok();
  return status;
}

Status ReplicaNode::Follow(LogLease* lease, int64_t* sent_us) {
  if (Status s = Prepare(); !s.ok()) {
    return s;
  }
  const std::unique_ptr<LogFollower> follower = options_.log->Follow(copy_->next());
  {
    const MutexLock lock(mu_);
    follower_ = follower.get();
  }
  Status status;
  while (status.ok()) {
    status = FollowOnce(follower.get());
    if (!status.ok() || !MayCampaign()) {
      continue;
    }
    *sent_us = Clock::System()->SteadyUs();
    status = options_.log->Acquire(options_.name, options_.lease, lease);
    if (status.ok()) {
      break;
    }
    if (status.code() == StatusCode::kLocked) {
      status = Status::Ok();  // Another replica was faster; the follower will report it.
      no_campaign_before_ = SteadyClock::now() + kRetryWait;
    }
  }
  must_seed_ = must_seed_ || status.code() == StatusCode::kNotFound;
  const MutexLock lock(mu_);
  follower_ = nullptr;
  return status;
}

Status ReplicaNode::FollowOnce(LogFollower* follower) {
  if (Stopping()) {
    return Status::ShuttingDown("the store is closed");
  }
  const auto wait =
      std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(no_campaign_before_ -
                                                                       SteadyClock::now()),
                 std::chrono::milliseconds(owner_.epoch == 0 ? 100 : 1000), kFollowFor);
  LogEvents events;
  Status status = follower->Next(wait, &events);
  if (status.ok()) {
    status = copy_->Apply(events.entries);
  }
  if (!status.ok()) {
    return status;
  }
  if (events.owner.has_value()) {
    owner_ = *events.owner;
    if (owner_.epoch != 0) {
      no_campaign_before_ = {};
    }
  }
  if (events.successor.has_value() && *events.successor != successor_) {
    successor_ = *events.successor;
    if (successor_.empty()) {
      no_campaign_before_ = {};  // It has owned the log, or nobody is to any more.
    }
  }
  // An owner that came and went between two looks at the log has left an entry, as each one does.
  if (copy_->position().epoch > seen_epoch_) {
    seen_epoch_ = copy_->position().epoch;
    no_campaign_before_ = {};
  }
  {
    const MutexLock lock(mu_);
    state_.owner_name = owner_.name;
    state_.applied = copy_->position().sequence;
    state_.applied_at_us = clock_->WallUs();
    if (owner_.epoch != 0) {
      not_begun_ = Status::Ok();
    }
    state_.log = not_begun_;
  }
  Report();
  return status;
}

bool ReplicaNode::MayCampaign() {
  if (!options_.candidate || owner_.epoch != 0 || Stopping()) {
    return false;
  }
  const auto now = SteadyClock::now();
  // The successor is given the time in which it would notice by itself.
  if (!successor_.empty() && successor_ != options_.name &&
      no_campaign_before_ == SteadyClock::time_point()) {
    no_campaign_before_ = now + options_.lease;
  }
  if (now < no_campaign_before_ && successor_ != options_.name) {
    return false;
  }
  no_campaign_before_ = {};
  return true;
}

// A failure shows in the follower, too.
void ReplicaNode::Report() {
  const auto now = SteadyClock::now();
  const uint64_t applied = copy_->position().sequence;
  if (now - reported_at_ < kReportInterval ||
      (applied == reported_ && now - reported_at_ < 10 * kReportInterval)) {
    return;
  }
  reported_at_ = now;
  reported_ = applied;
  SetProblem(options_.log->PutReplica(
      {.name = options_.name, .applied = applied, .seen_at_us = clock_->WallUs()}));
}

// --- An ownership ---

void ReplicaNode::Own(LogLease lease, int64_t sent_us) {
  Ownership ownership;
  ownership.fence = std::make_shared<Fence>(lease.epoch);
  ownership.fence->ExtendTo(sent_us + Us(lease.ttl) - Us(options_.lease_margin));
  {
    const MutexLock lock(mu_);
    lease_lost_ = false;
    resign_.clear();
  }
  Status status = WithResources("the ownership", [&] {
    KeepLease(lease, &ownership);
    return BeginOwnership(lease, &ownership);
  });
  if (!status.ok()) {
    ownership.fence->Drop(Status::NotOwner("the ownership could not begin: " + status.message()));
    ownership.keeper.reset();
    static_cast<void>(options_.log->Release(lease));
    must_seed_ = must_seed_ || status.code() == StatusCode::kNotFound;
    no_campaign_before_ =
        SteadyClock::now() + std::min<SteadyClock::duration>(options_.lease, kNotBegunWait);
    seen_epoch_ = lease.epoch;
    owner_ = {};
    static_cast<void>(copy_->EndOwnership());
    {
      const MutexLock lock(mu_);
      not_begun_ = std::move(status);
      state_.log = not_begun_;
      may_resign_ = false;
      end_status_ = stopping_ ? Status::Ok() : ownership.fence->Refusal();
      ++ended_;
    }
    cv_.NotifyAll();
    return;
  }
  status = WithResources("the ownership", [&] {
    Maintain(lease, &ownership);
    return Status::Ok();
  });
  if (status.ok()) {
    status = AwaitEnd(ownership);
  } else {
    status = GiveUp(status.message());
  }
  EndOwnership(lease, &ownership, std::move(status));
}

void ReplicaNode::KeepLease(const LogLease& lease, Ownership* ownership) {
  ownership->keeper = std::make_unique<LeaseKeeper>(
      options_.log.get(), lease, ownership->fence, options_.lease_margin, [this] {
        {
          const MutexLock lock(mu_);
          lease_lost_ = true;
          if (owned_storage_ != nullptr) {  // A write that waits for the log waits in vain.
            owned_storage_->Cut(Status::NotOwner("the lease has ended"));
          }
        }
        cv_.NotifyAll();
      });
}

void ReplicaNode::Maintain(const LogLease& lease, Ownership* ownership) {
  ownership->maintenance = std::make_unique<Maintenance>(
      options_.log.get(), ownership->storage,
      Maintenance::Options{.name = options_.name,
                           .epoch = lease.epoch,
                           .max_log_bytes = options_.max_log_bytes,
                           .clock = clock_,
                           .on_successor = [this](const std::string& successor) {
                             {
                               const MutexLock lock(mu_);
                               resign_ = "replica '" + successor + "' is to own the store";
                             }
                             cv_.NotifyAll();
                           }});
}

Status ReplicaNode::GiveUp(const std::string& why) {
  const MutexLock lock(mu_);
  resign_ = why;
  may_resign_ = false;
  return {};
}

// Applies what is left of the log.
Status ReplicaNode::CatchUp(const LogLease& lease, const Fence& fence, LogState* state) {
  copy_->DropUnfinished();
  Status status;
  do {
    // Checked again: the log may have been replaced since this replica began to follow it.
    status = options_.log->State(state);
    if (status.ok()) status = CheckLog(*state);
    if (status.ok()) status = copy_->CatchUp(options_.log.get());
    if (status.code() == StatusCode::kIOError) {
      Pause(kRetryWait);
      copy_->DropUnfinished();
    }
  } while (status.code() == StatusCode::kIOError && fence.Holds() && !Stopping());
  if (status.ok() && lease.epoch <= copy_->position().epoch) {
    status = Status::Corruption(options_.log->Name() + " begins epoch " +
                                std::to_string(lease.epoch) + ", and this replica has seen epoch " +
                                std::to_string(copy_->position().epoch) +
                                ": an older state of the log was restored");
  }
  return status;
}

Status ReplicaNode::BeginOwnership(const LogLease& lease, Ownership* ownership) {
  LogState state;
  Status status;
  if (!successor_.empty()) {
    // This replica has followed its call, or another one has not in its time.
    status = options_.log->SetSuccessor("");
  }
  if (status.ok()) {
    status = CatchUp(lease, *ownership->fence, &state);
  }
  if (status.ok() && !state.checkpoint.has_value()) {
    // Until there is one no other replica can begin: what the log has needs this machine.
    LogCheckpoint made;
    status = copy_->WriteCheckpoint(options_.log.get(), lease.epoch, clock_->WallUs(),
                                    stop_copying_, &made);
  }
  if (!status.ok()) {
    return status;
  }
  auto storage = std::make_unique<storage::ReplicatedStorage>(
      copy_, options_.log.get(),
      storage::ReplicatedStorage::Options{.epoch = lease.epoch,
                                          .write_timeout = BoundedWait(options_.write_timeout)});
  ownership->storage = storage.get();
  if (status = storage->Begin(); !status.ok()) {
    return status;
  }
  {
    const MutexLock lock(mu_);
    may_resign_ = true;
    state_.owner_name.clear();  // Of the last owner.
  }
  if (status = target_->BeginOwnership(std::move(storage), ownership->fence); !status.ok()) {
    return status;
  }
  {
    const MutexLock lock(mu_);
    not_begun_ = Status::Ok();
    owned_storage_ = ownership->storage;
    owned_fence_ = ownership->fence;
  }
  cv_.NotifyAll();
  target_->OwnershipBegan(lease.epoch);
  return status;
}

Status ReplicaNode::AwaitEnd(const Ownership& ownership) {
  const MutexLock lock(mu_);
  while (!stopping_ && resign_.empty() && !lease_lost_ && ownership.fence->Holds()) {
    const auto left =
        std::chrono::microseconds(ownership.fence->until_us() - Clock::System()->SteadyUs());
    cv_.WaitUntil(mu_, SteadyClock::now() + std::clamp<SteadyClock::duration>(
                                                left, std::chrono::milliseconds(1), kFollowFor));
    state_.log = ownership.keeper->Problem();
    if (state_.log.ok()) {
      state_.log = ownership.maintenance->Problem();
    }
  }
  may_resign_ = false;
  if (!ownership.fence->Holds()) {
    return ownership.fence->Refusal();
  }
  return stopping_ || !resign_.empty() ? Status::Ok() : ownership.fence->Refusal();
}

// Nothing is handed out or changed from the first step on; then what is open is written if this
// replica gives the ownership up; then the log refuses everything of this epoch.
void ReplicaNode::EndOwnership(const LogLease& lease, Ownership* ownership, Status why) {
  const bool gives_up = why.ok();
  if (gives_up) {
    const MutexLock lock(mu_);
    why = Status::NotOwner("the ownership has ended: " +
                           (stopping_ ? std::string("the store was closed") : resign_));
  }
  ownership->fence->Drop(why);
  Status ended;
  if (gives_up) {
    ended = target_->EndOwnership(Status::Ok());
  }
  ownership->storage->Cut(why);
  if (!gives_up) {
    ended = target_->EndOwnership(why);
  }
  static_cast<void>(options_.log->Release(lease));  // If this fails, it runs out.
  ownership->keeper->Stop();
  ownership->maintenance.reset();
  SetProblem(copy_->EndOwnership());
  no_campaign_before_ = SteadyClock::now() + options_.lease;  // The others first.
  seen_epoch_ = lease.epoch;
  owner_ = {};  // Nobody, as far as this replica knows.
  {
    const MutexLock lock(mu_);
    owned_storage_ = nullptr;
    owned_fence_ = nullptr;
    state_.applied = copy_->position().sequence;
    state_.applied_at_us = clock_->WallUs();
    end_status_ = std::move(ended);
    ++ended_;
  }
  cv_.NotifyAll();
  target_->OwnershipEnded(lease.epoch, why);
}

// --- State ---

void ReplicaNode::SetProblem(const Status& problem) {
  const MutexLock lock(mu_);
  state_.log = problem.ok() ? not_begun_ : problem;
}

bool ReplicaNode::Stopping() const {
  const MutexLock lock(mu_);
  return stopping_;
}

void ReplicaNode::Pause(std::chrono::milliseconds time) {
  const auto until = SteadyClock::now() + time;
  const MutexLock lock(mu_);
  while (!stopping_ && cv_.WaitUntil(mu_, until)) {
  }
}

}  // namespace wq
