#include "tests/support/memory_log.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/mutant.h"
#include "base/mutex.h"
#include "wq/clock.h"

namespace wq::support {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A longer wait of a follower ends after this time: a deadline far ahead would overflow.
constexpr milliseconds kLongestWait = std::chrono::hours(1);

Status TooLong(std::string_view what, size_t bytes) {
  return Status::InvalidArgument(std::string(what) + " has " + std::to_string(bytes) +
                                 " bytes, more than " + std::to_string(kMaxLogEntryBytes));
}

Status Truncated(LogSequence sequence, LogSequence first) {
  return Status::NotFound("the log's entry " + std::to_string(sequence) +
                          " was truncated: the first that is kept is " + std::to_string(first));
}

}  // namespace

struct MemoryLog::Rows {
  explicit Rows(Clock* clock_in)
      : clock(clock_in), subscription(clock->Subscribe([this] {
          const MutexLock lock(mu);  // A follower that has just read the clock waits by now.
          changed.NotifyAll();
        })) {}
  ~Rows() { clock->Unsubscribe(subscription); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  LogSequence Last() const WQ_REQUIRES(mu) { return first + entries.size() - 1; }
  const std::string& Entry(LogSequence sequence) const WQ_REQUIRES(mu) {
    return entries[sequence - first];
  }
  void EndOwnership() WQ_REQUIRES(mu) {
    owner = {};
    lease_id = 0;
    changed.NotifyAll();
  }
  // Ends the ownership if its lease has run out. Each call does this first.
  void EndLease() WQ_REQUIRES(mu) {
    if (owner.epoch != 0 && clock->SteadyUs() >= lease_end_us) EndOwnership();
  }
  // NotOwner unless the epoch is the owner's.
  Status CheckOwner(uint64_t epoch) WQ_REQUIRES(mu) {
    EndLease();
    if (epoch != 0 && owner.epoch == epoch) return Status::Ok();
    return Status::NotOwner(
        "the ownership of epoch " + std::to_string(epoch) + " has ended; " +
        (owner.epoch == 0 ? "nobody owns the log"
                          : owner.name + " owns the log in epoch " + std::to_string(owner.epoch)));
  }

  Clock* const clock;

  Mutex mu;
  CondVar changed;  // Of anything that a follower sees.
  std::string uuid WQ_GUARDED_BY(mu);
  // The owner's lease lasts until lease_end_us, by the clock's steady reading.
  LogOwner owner WQ_GUARDED_BY(mu);
  int64_t lease_id WQ_GUARDED_BY(mu) = 0;
  milliseconds lease_ttl WQ_GUARDED_BY(mu){0};
  int64_t lease_end_us WQ_GUARDED_BY(mu) = 0;
  uint64_t last_epoch WQ_GUARDED_BY(mu) = 0;  // Never goes back, not even at a Destroy.
  std::string successor WQ_GUARDED_BY(mu);
  // The entries first, first + 1, …
  LogSequence first WQ_GUARDED_BY(mu) = 1;
  std::deque<std::string> entries WQ_GUARDED_BY(mu);
  // The first entry of the present owner, which nothing erases any more; last + 1: none yet.
  LogSequence owners_first WQ_GUARDED_BY(mu) = 1;
  std::vector<LogSequence> erasures WQ_GUARDED_BY(mu);  // The sequence of each EraseFrom.
  uint64_t destroyed WQ_GUARDED_BY(mu) = 0;             // How often.
  std::optional<LogCheckpoint> checkpoint WQ_GUARDED_BY(mu);
  std::map<std::string, std::map<uint64_t, std::string>, std::less<>> parts WQ_GUARDED_BY(mu);
  std::map<std::string, LogReplica, std::less<>> replicas WQ_GUARDED_BY(mu);

  const uint64_t subscription;  // The clock's. The last member: its calls use the others.
};

MemoryLog::MemoryLog(Clock* clock)
    : rows_(std::make_shared<Rows>(clock != nullptr ? clock : Clock::System())) {}
MemoryLog::~MemoryLog() = default;

// --- The store ---

Status MemoryLog::Claim(std::string* uuid) {
  const MutexLock lock(rows_->mu);
  if (rows_->uuid.empty()) {
    if (uuid->empty()) return Status::InvalidArgument("the store's uuid is empty");
    rows_->uuid = *uuid;
  }
  *uuid = rows_->uuid;
  return Status::Ok();
}

Status MemoryLog::State(LogState* state) {
  const MutexLock lock(rows_->mu);
  rows_->EndLease();
  *state = {};
  state->store_uuid = rows_->uuid;
  state->owner = rows_->owner;
  state->successor = rows_->successor;
  state->first = rows_->first;
  state->last = rows_->Last();
  for (const std::string& entry : rows_->entries) state->bytes += entry.size();
  state->checkpoint = rows_->checkpoint;
  for (const auto& [name, replica] : rows_->replicas) state->replicas.push_back(replica);
  return Status::Ok();
}

std::vector<LogMember> MemoryLog::Members() {
  LogMember member;
  member.endpoint = Name();
  member.reachable = true;
  member.leads = true;
  const MutexLock lock(rows_->mu);
  for (const std::string& entry : rows_->entries) member.database_bytes += entry.size();
  for (const auto& [id, parts] : rows_->parts) {
    for (const auto& [index, part] : parts) member.database_bytes += part.size();
  }
  return {member};
}

Status MemoryLog::Destroy(bool force) {
  const MutexLock lock(rows_->mu);
  rows_->EndLease();
  if (rows_->owner.epoch != 0) {
    return Status::Locked(rows_->owner.name + " owns the log in epoch " +
                          std::to_string(rows_->owner.epoch));
  }
  if (!force && !rows_->replicas.empty()) {
    return Status::Locked("the log has the replica " + rows_->replicas.begin()->first);
  }
  rows_->uuid.clear();
  rows_->successor.clear();
  rows_->first = 1;
  rows_->entries.clear();
  rows_->erasures.clear();
  rows_->checkpoint.reset();
  rows_->parts.clear();
  rows_->replicas.clear();
  ++rows_->destroyed;
  rows_->changed.NotifyAll();
  return Status::Ok();
}

// --- Ownership ---

Status MemoryLog::Acquire(std::string_view name, milliseconds lease, LogLease* owned) {
  if (name.empty()) return Status::InvalidArgument("the owner's name is empty");
  if (lease <= milliseconds::zero()) {
    return Status::InvalidArgument("a lease of " + std::to_string(lease.count()) + " ms");
  }
  const MutexLock lock(rows_->mu);
  rows_->EndLease();
  if (rows_->owner.epoch != 0) {
    return Status::Locked(rows_->owner.name + " owns the log in epoch " +
                          std::to_string(rows_->owner.epoch));
  }
  rows_->owner = {++rows_->last_epoch, std::string(name)};
  rows_->owners_first = rows_->Last() + 1;
  rows_->lease_id = static_cast<int64_t>(rows_->last_epoch);
  rows_->lease_ttl = lease;
  rows_->lease_end_us = rows_->clock->SteadyUs() + microseconds(lease).count();
  *owned = {rows_->owner.epoch, rows_->lease_id, lease};
  rows_->changed.NotifyAll();
  return Status::Ok();
}

Status MemoryLog::Renew(LogLease* owned) {
  const MutexLock lock(rows_->mu);
  if (Status s = rows_->CheckOwner(owned->epoch); !s.ok()) return s;
  rows_->lease_end_us = rows_->clock->SteadyUs() + microseconds(rows_->lease_ttl).count();
  owned->ttl = rows_->lease_ttl;
  return Status::Ok();
}

Status MemoryLog::Release(const LogLease& owned) {
  const MutexLock lock(rows_->mu);
  rows_->EndLease();
  if (owned.epoch != 0 && rows_->owner.epoch == owned.epoch) rows_->EndOwnership();
  return Status::Ok();
}

Status MemoryLog::SetSuccessor(std::string_view name) {
  const MutexLock lock(rows_->mu);
  rows_->successor = name;
  rows_->changed.NotifyAll();
  return Status::Ok();
}

// --- Entries ---

Status MemoryLog::Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) {
  const std::string entry = "the log's entry " + std::to_string(sequence);
  if (bytes.size() > kMaxLogEntryBytes) return TooLong(entry, bytes.size());
  const MutexLock lock(rows_->mu);
  Status owns = WQ_MUTANT(guard_left_out) ? Status::Ok() : rows_->CheckOwner(epoch);
  if (sequence >= rows_->first && sequence <= rows_->Last()) {
    if (rows_->Entry(sequence) == bytes) return Status::Ok();
    return owns.ok() ? Status::Corruption(entry + " has other bytes") : owns;
  }
  if (!owns.ok()) return owns;
  if (sequence != rows_->Last() + 1) {
    return Status::InvalidArgument(entry + " is not the next one: the last is " +
                                   std::to_string(rows_->Last()));
  }
  rows_->entries.emplace_back(bytes);
  rows_->changed.NotifyAll();
  return Status::Ok();
}

Status MemoryLog::EraseFrom(uint64_t epoch, LogSequence sequence) {
  const MutexLock lock(rows_->mu);
  if (Status s = rows_->CheckOwner(epoch); !s.ok()) return s;
  if (sequence < rows_->first) return Truncated(sequence, rows_->first);
  if (sequence > rows_->Last()) return Status::Ok();
  // The owner has appended since: this is the repetition of a call that was applied.
  if (rows_->owners_first <= rows_->Last()) return Status::Ok();
  rows_->entries.resize(sequence - rows_->first);
  rows_->owners_first = sequence;
  rows_->erasures.push_back(sequence);
  return Status::Ok();
}

Status MemoryLog::Truncate(uint64_t epoch, LogSequence sequence) {
  const MutexLock lock(rows_->mu);
  if (Status s = rows_->CheckOwner(epoch); !s.ok()) return s;
  while (rows_->first < sequence && rows_->entries.size() > 1) {
    rows_->entries.pop_front();
    ++rows_->first;
  }
  rows_->changed.NotifyAll();
  return Status::Ok();
}

Status MemoryLog::Read(LogSequence sequence, size_t max_bytes, std::vector<LogEntry>* entries) {
  const MutexLock lock(rows_->mu);
  if (sequence < rows_->first) return Truncated(sequence, rows_->first);
  size_t bytes = 0;
  for (; sequence <= rows_->Last() && bytes <= max_bytes; ++sequence) {
    entries->push_back({sequence, rows_->Entry(sequence)});
    bytes += entries->back().bytes.size();
  }
  return Status::Ok();
}

class MemoryLog::Follower final : public LogFollower {
 public:
  Follower(std::shared_ptr<Rows> rows, LogSequence sequence)
      : rows_(std::move(rows)), begin_(sequence), next_(sequence) {
    const MutexLock lock(rows_->mu);
    erasures_ = rows_->erasures.size();
    destroyed_ = rows_->destroyed;
  }

  Status Next(milliseconds timeout, LogEvents* events) override {
    const auto deadline = steady_clock::now() + std::min(timeout, kLongestWait);
    const MutexLock lock(rows_->mu);
    for (;;) {
      rows_->EndLease();
      if (rows_->destroyed != destroyed_) return Status::NotFound("the log was destroyed");
      for (; erasures_ < rows_->erasures.size(); ++erasures_) {
        next_ = std::max(begin_, std::min(next_, rows_->erasures[erasures_]));
      }
      if (next_ < rows_->first) return Truncated(next_, rows_->first);
      const bool found = Collect(events);
      const bool interrupted = std::exchange(interrupted_, false);
      if (found || interrupted || steady_clock::now() >= deadline) return Status::Ok();
      rows_->changed.WaitUntil(rows_->mu, std::min(deadline, LeaseEnd()));
    }
  }

  void Interrupt() override {
    const MutexLock lock(rows_->mu);
    interrupted_ = true;
    rows_->changed.NotifyAll();
  }

 private:
  // True: there was something.
  bool Collect(LogEvents* events) WQ_REQUIRES(rows_->mu) {
    bool found = false;
    for (; next_ <= rows_->Last(); ++next_, found = true) {
      events->entries.push_back({next_, rows_->Entry(next_)});
    }
    if (first_call_ || owner_epoch_ != rows_->owner.epoch) {
      events->owner = rows_->owner;
      owner_epoch_ = rows_->owner.epoch;
      found = true;
    }
    if (first_call_ || successor_ != rows_->successor) {
      events->successor = rows_->successor;
      successor_ = rows_->successor;
      found = true;
    }
    first_call_ = false;
    return found;
  }
  // When the owner's lease ends if the clock runs as the machine's. (A manual clock wakes the
  // follower.)
  steady_clock::time_point LeaseEnd() const WQ_REQUIRES(rows_->mu) {
    if (rows_->owner.epoch == 0) return steady_clock::time_point::max();
    const microseconds left(rows_->lease_end_us - rows_->clock->SteadyUs());
    return steady_clock::now() + std::clamp(left, microseconds(1000), microseconds(kLongestWait));
  }

  const std::shared_ptr<Rows> rows_;
  const LogSequence begin_;
  LogSequence next_ WQ_GUARDED_BY(rows_->mu);
  // How many of rows_->erasures this follower has seen.
  size_t erasures_ WQ_GUARDED_BY(rows_->mu) = 0;
  uint64_t destroyed_ WQ_GUARDED_BY(rows_->mu) = 0;
  bool interrupted_ WQ_GUARDED_BY(rows_->mu) = false;
  bool first_call_ WQ_GUARDED_BY(rows_->mu) = true;
  // As reported.
  uint64_t owner_epoch_ WQ_GUARDED_BY(rows_->mu) = 0;
  std::string successor_ WQ_GUARDED_BY(rows_->mu);
};

std::unique_ptr<LogFollower> MemoryLog::Follow(LogSequence sequence) {
  return std::make_unique<Follower>(rows_, sequence);
}

// --- Checkpoints ---

Status MemoryLog::PutCheckpointPart(uint64_t epoch, std::string_view id, uint64_t index,
                                    std::string_view bytes) {
  if (bytes.size() > kMaxLogEntryBytes) {
    return TooLong("the part " + std::to_string(index) + " of the checkpoint " + std::string(id),
                   bytes.size());
  }
  const MutexLock lock(rows_->mu);
  if (Status s = rows_->CheckOwner(epoch); !s.ok()) return s;
  rows_->parts[std::string(id)][index] = bytes;
  return Status::Ok();
}

Status MemoryLog::CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) {
  const MutexLock lock(rows_->mu);
  if (Status s = rows_->CheckOwner(epoch); !s.ok()) return s;
  if (rows_->checkpoint.has_value() && (rows_->checkpoint->id == checkpoint.id ||
                                        rows_->checkpoint->sequence > checkpoint.sequence)) {
    return Status::Ok();  // It comes again.
  }
  const auto parts = rows_->parts.find(checkpoint.id);
  const size_t count = parts == rows_->parts.end() ? 0 : parts->second.size();
  if (count != checkpoint.parts) {
    return Status::InvalidArgument("the checkpoint " + checkpoint.id + " has " +
                                   std::to_string(count) + " parts of " +
                                   std::to_string(checkpoint.parts));
  }
  std::erase_if(rows_->parts, [&](const auto& each) { return each.first != checkpoint.id; });
  rows_->checkpoint = checkpoint;
  return Status::Ok();
}

Status MemoryLog::ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) {
  const MutexLock lock(rows_->mu);
  const auto parts = rows_->parts.find(id);
  if (parts != rows_->parts.end()) {
    if (const auto part = parts->second.find(index); part != parts->second.end()) {
      *bytes = part->second;
      return Status::Ok();
    }
  }
  return Status::NotFound("the log has no part " + std::to_string(index) + " of the checkpoint " +
                          std::string(id));
}

// --- Replicas ---

Status MemoryLog::PutReplica(const LogReplica& replica) {
  if (replica.name.empty()) return Status::InvalidArgument("the replica's name is empty");
  const MutexLock lock(rows_->mu);
  rows_->replicas[replica.name] = replica;
  return Status::Ok();
}

Status MemoryLog::RemoveReplica(std::string_view name) {
  const MutexLock lock(rows_->mu);
  const auto replica = rows_->replicas.find(name);
  if (replica == rows_->replicas.end()) {
    return Status::NotFound("the log has no replica " + std::string(name));
  }
  rows_->replicas.erase(replica);
  return Status::Ok();
}

}  // namespace wq::support
