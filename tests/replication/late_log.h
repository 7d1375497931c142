// LateLog: a ReplicatedLog over another one, whose requests may come twice: it keeps a copy of the
// changes that it passes on, and Replay sends one of them again, as a packet that was delayed.
//
//   const auto late = std::make_shared<LateLog>(log, seed);
//   late->Replay();
//
// The calls of owners only: a repeated report of a replica does no harm. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/replicated_log.h"

namespace wq::replication {

class LateLog final : public ReplicatedLog {
 public:
  LateLog(std::shared_ptr<ReplicatedLog> log, uint64_t seed)
      : log_(std::move(log)), random_(seed) {}

  // Sends one of the copies, and keeps it: a packet may come more than twice. The answer is lost.
  void Replay() {
    if (!copies_.empty()) copies_[random_() % copies_.size()]();
  }

  std::string Name() const override { return log_->Name(); }
  Status Claim(std::string* uuid) override { return log_->Claim(uuid); }
  Status State(LogState* state) override { return log_->State(state); }
  std::vector<LogMember> Members() override { return log_->Members(); }
  Status Destroy(bool force) override { return log_->Destroy(force); }

  Status Acquire(std::string_view name, std::chrono::milliseconds lease, LogLease* owned) override {
    return log_->Acquire(name, lease, owned);
  }
  Status Renew(LogLease* owned) override {
    Keep([this, copy = *owned]() mutable { static_cast<void>(log_->Renew(&copy)); });
    return log_->Renew(owned);
  }
  Status Release(const LogLease& owned) override {
    Keep([this, owned] { static_cast<void>(log_->Release(owned)); });
    return log_->Release(owned);
  }
  Status SetSuccessor(std::string_view name) override { return log_->SetSuccessor(name); }

  Status Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) override {
    Keep([this, epoch, sequence, copy = std::string(bytes)] {
      static_cast<void>(log_->Append(epoch, sequence, copy));
    });
    return log_->Append(epoch, sequence, bytes);
  }
  Status EraseFrom(uint64_t epoch, LogSequence sequence) override {
    Keep([this, epoch, sequence] { static_cast<void>(log_->EraseFrom(epoch, sequence)); });
    return log_->EraseFrom(epoch, sequence);
  }
  Status Truncate(uint64_t epoch, LogSequence sequence) override {
    Keep([this, epoch, sequence] { static_cast<void>(log_->Truncate(epoch, sequence)); });
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
    Keep([this, epoch, id_copy = std::string(id), index, copy = std::string(bytes)] {
      static_cast<void>(log_->PutCheckpointPart(epoch, id_copy, index, copy));
    });
    return log_->PutCheckpointPart(epoch, id, index, bytes);
  }
  Status CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) override {
    Keep([this, epoch, checkpoint] {
      static_cast<void>(log_->CommitCheckpoint(epoch, checkpoint));
    });
    return log_->CommitCheckpoint(epoch, checkpoint);
  }
  Status ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) override {
    return log_->ReadCheckpointPart(id, index, bytes);
  }

  Status PutReplica(const LogReplica& replica) override { return log_->PutReplica(replica); }
  Status RemoveReplica(std::string_view name) override { return log_->RemoveReplica(name); }

 private:
  // Of many copies a random one makes way.
  void Keep(std::function<void()> copy) {
    constexpr size_t kCopies = 16;
    if (copies_.size() < kCopies) {
      copies_.push_back(std::move(copy));
    } else {
      copies_[random_() % kCopies] = std::move(copy);
    }
  }

  const std::shared_ptr<ReplicatedLog> log_;
  std::mt19937_64 random_;
  std::vector<std::function<void()>> copies_;
};

}  // namespace wq::replication
