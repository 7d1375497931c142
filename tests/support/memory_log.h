// MemoryLog: a ReplicatedLog in this process's memory (wq/replicated_log.h). All stores that share
// one MemoryLog are replicas of one another.
//
//   ManualClock clock;
//   const auto log = std::make_shared<MemoryLog>(&clock);
//   LogLease lease;
//   Status s = log->Acquire("node-1", 10s, &lease);
//   clock.Advance(10s);  // The lease has run out, and each follower sees it.
//
// It never fails with IOError. tests/support/faulty_log.h adds faults to any log.
//
// Beyond the interface's promises:
//   - Truncate keeps the last entry, whatever it is asked to erase.
//   - A follower that has seen entries which EraseFrom erases sees those that take their place,
//     with the same sequences again.
//   - After Destroy each follower gets NotFound.
//   - An Append of an epoch that has ended is Ok if the log has this very entry: it repeats one
//     that was applied.
//
// Thread-safe. Blocks: LogFollower::Next only, for its timeout in real time. Leases run on the
// clock's steady reading. Lifetime: the clock must outlive the log and its followers; a follower
// keeps what it needs of the log. A crash: loses it.
#pragma once

#include <memory>

#include "wq/clock.h"
#include "wq/replicated_log.h"

namespace wq::support {

class MemoryLog final : public ReplicatedLog {
 public:
  explicit MemoryLog(Clock* clock = nullptr);  // nullptr: Clock::System().
  ~MemoryLog() override;

  std::string Name() const override { return "memory"; }

  Status Claim(std::string* uuid) override;
  Status State(LogState* state) override;
  std::vector<LogMember> Members() override;
  Status Destroy(bool force) override;

  Status Acquire(std::string_view name, std::chrono::milliseconds lease, LogLease* owned) override;
  Status Renew(LogLease* owned) override;
  Status Release(const LogLease& owned) override;
  Status SetSuccessor(std::string_view name) override;

  Status Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) override;
  Status EraseFrom(uint64_t epoch, LogSequence sequence) override;
  Status Truncate(uint64_t epoch, LogSequence sequence) override;
  Status Read(LogSequence sequence, size_t max_bytes, std::vector<LogEntry>* entries) override;
  std::unique_ptr<LogFollower> Follow(LogSequence sequence) override;

  Status PutCheckpointPart(uint64_t epoch, std::string_view id, uint64_t index,
                           std::string_view bytes) override;
  Status CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) override;
  Status ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) override;

  Status PutReplica(const LogReplica& replica) override;
  Status RemoveReplica(std::string_view name) override;

 private:
  struct Rows;  // What the log holds.
  class Follower;
  const std::shared_ptr<Rows> rows_;
};

}  // namespace wq::support
