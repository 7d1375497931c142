// MeasuredLog: another log, with a record of what its owner appends.
//
// Threading, lifetime: as ReplicatedLog. A crash: as the other log.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "tools/bench/replication/replicas.h"
#include "wq/replicated_log.h"

namespace wq::bench {

class MeasuredLog final : public ReplicatedLog {
 public:
  explicit MeasuredLog(std::shared_ptr<ReplicatedLog> log) : log_(std::move(log)) {}

  struct Acknowledged {
    LogSequence sequence = 0;
    int64_t at_ns = 0;  // NowNs when Append returned.
  };
  struct Appended {
    std::vector<Acknowledged> entries;
    size_t bytes = 0;
  };
  // What was appended since the last call.
  Appended Take() WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return std::exchange(appended_, {});
  }

  Status Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) override
      WQ_EXCLUDES(mu_) {
    Status s = log_->Append(epoch, sequence, bytes);
    if (s.ok()) {
      const MutexLock lock(mu_);
      appended_.entries.push_back({.sequence = sequence, .at_ns = NowNs()});
      appended_.bytes += bytes.size();
    }
    return s;
  }

  // The other log's.
  std::string Name() const override { return log_->Name(); }
  Status Claim(std::string* uuid) override { return log_->Claim(uuid); }
  Status State(LogState* state) override { return log_->State(state); }
  std::vector<LogMember> Members() override { return log_->Members(); }
  Status Destroy(bool force) override { return log_->Destroy(force); }
  Status Acquire(std::string_view name, std::chrono::milliseconds lease, LogLease* owned) override {
    return log_->Acquire(name, lease, owned);
  }
  Status Renew(LogLease* owned) override { return log_->Renew(owned); }
  Status Release(const LogLease& owned) override { return log_->Release(owned); }
  Status SetSuccessor(std::string_view name) override { return log_->SetSuccessor(name); }
  Status EraseFrom(uint64_t epoch, LogSequence sequence) override {
    return log_->EraseFrom(epoch, sequence);
  }
  Status Truncate(uint64_t epoch, LogSequence sequence) override {
    return log_->Truncate(epoch, sequence);
  }
  Status Read(LogSequence sequence, size_t max_bytes, std::vector<LogEntry>* entries) override {
    return log_->Read(sequence, max_bytes, entries);
  }
  std::unique_ptr<LogFollower> Follow(LogSequence sequence) override {
    return log_->Follow(sequence);
  }
  Status PutCheckpointPart(uint64_t epoch, std::string_view id, uint64_t index,
                           std::string_view bytes) override {
    return log_->PutCheckpointPart(epoch, id, index, bytes);
  }
  Status CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) override {
    return log_->CommitCheckpoint(epoch, checkpoint);
  }
  Status ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) override {
    return log_->ReadCheckpointPart(id, index, bytes);
  }
  Status PutReplica(const LogReplica& replica) override { return log_->PutReplica(replica); }
  Status RemoveReplica(std::string_view name) override { return log_->RemoveReplica(name); }

 private:
  const std::shared_ptr<ReplicatedLog> log_;
  Mutex mu_;
  Appended appended_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq::bench
