#include "engine/replication/maintenance.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "wq/clock.h"

namespace wq {
namespace {

// The bytes appended up to `sequence`, as far as this ownership knows.
uint64_t BytesAt(const std::deque<std::pair<LogSequence, uint64_t>>& sizes, LogSequence sequence) {
  uint64_t bytes = 0;
  for (const auto& [at, sum] : sizes) {
    if (at > sequence) {
      break;
    }
    bytes = sum;
  }
  return bytes;
}

bool NeedsCheckpoint(const LogState& state, const Maintenance::Options& options,
                     const std::deque<std::pair<LogSequence, uint64_t>>& sizes) {
  if (!state.checkpoint.has_value()) {
    return true;
  }
  const LogSequence at = state.checkpoint->sequence;
  uint64_t since = sizes.back().second - BytesAt(sizes, at);
  // Of earlier ownerships' entries only the number is known.
  if (at < sizes.front().first) {
    since += (sizes.front().first - at) * kMaxLogEntryBytes;
  }
  return since > std::max<uint64_t>(state.checkpoint->bytes, options.min_checkpoint_bytes);
}

// The first sequence to keep.
LogSequence TruncateTo(const LogState& state, const Maintenance::Options& options,
                       const std::deque<std::pair<LogSequence, uint64_t>>& sizes) {
  LogSequence everywhere = sizes.back().first;
  for (const LogReplica& replica : state.replicas) {
    everywhere = std::min(everywhere, replica.applied);
  }
  // What a replica may lag: max_log_bytes of this ownership's entries, or as many earlier entries
  // as surely are not more.
  LogSequence bound = sizes.front().first -
                      std::min(sizes.front().first, options.max_log_bytes / kMaxLogEntryBytes);
  for (const auto& [sequence, bytes] : sizes) {
    if (sizes.back().second - bytes > options.max_log_bytes) {
      bound = std::max(bound, sequence);
    }
  }
  const LogSequence checkpoint =
      WQ_MUTANT(truncated_too_early) ? sizes.back().first : state.checkpoint->sequence;
  return std::min(checkpoint, std::max(everywhere, bound)) + 1;
}

}  // namespace

Maintenance::Maintenance(ReplicatedLog* log, storage::ReplicatedStorage* storage, Options options)
    : log_(log), storage_(storage), options_(std::move(options)), thread_([this] { Run(); }) {}

void Maintenance::Stop() {
  {
    const MutexLock lock(mu_);
    stopped_ = true;
  }
  stop_cv_.NotifyAll();
  if (thread_.joinable()) {
    thread_.join();
  }
}

Status Maintenance::Problem() const {
  const MutexLock lock(mu_);
  return problem_;
}

Status Maintenance::Round(ReplicatedLog* log, storage::ReplicatedStorage* storage,
                          const Options& options,
                          std::deque<std::pair<LogSequence, uint64_t>>* sizes, LogState* state) {
  const uint64_t bytes = storage->appended_bytes();  // Before the sequence: so never too many.
  const LogSequence sequence = storage->sequence();
  if (sizes->empty() || sizes->back().first < sequence) {
    sizes->emplace_back(sequence, bytes);
  }
  Status status = log->PutReplica(
      {.name = options.name, .applied = sequence, .seen_at_us = options.clock->WallUs()});
  if (status.ok()) {
    status = log->State(state);
  }
  if (!status.ok() || state->owner.epoch != options.epoch) {
    return status;
  }
  if (NeedsCheckpoint(*state, options, *sizes)) {
    LogCheckpoint made;
    status = storage->WriteCheckpoint(options.clock->WallUs(), &made);
    if (!status.ok()) {
      return status;
    }
    state->checkpoint = made;
  }
  const LogSequence keep = TruncateTo(*state, options, *sizes);
  while (sizes->size() > 1 && (*sizes)[1].first < keep) {
    sizes->pop_front();
  }
  return keep >= state->first + options.min_truncated ? log->Truncate(options.epoch, keep) : status;
}

void Maintenance::Run() {
  bool told = false;
  for (;;) {
    LogState state;
    Status status = Round(log_, storage_, options_, &sizes_, &state);
    if (!told && status.ok() && !state.successor.empty() && state.successor != options_.name) {
      told = true;
      options_.on_successor(state.successor);
    }
    const auto next = std::chrono::steady_clock::now() + options_.interval;
    const MutexLock lock(mu_);
    problem_ = std::move(status);
    while (!stopped_ && stop_cv_.WaitUntil(mu_, next)) {
    }
    if (stopped_) {
      return;
    }
  }
}

}  // namespace wq
