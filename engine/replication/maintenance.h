// Maintenance: what the owner of a replicated store does for its log, in the background: reports
// how far it is, writes checkpoints, truncates, and sees when another replica is to own the store.
//
//   Maintenance maintenance(log, storage, {.name = "node-1", …});
//   …
//   maintenance.Stop();
//
// A checkpoint is written when the log has none (an ownership begins with one: ReplicaNode), and
// when the log since the last one is larger than it. Entries are truncated once the checkpoint and
// every replica have them; replicas that lag by more than max_log_bytes are not waited for. Errors
// are tried again in the next round, and show in Problem. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "storage/replicated_storage.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq {

class Clock;

class Maintenance {
 public:
  struct Options {
    std::string name;  // Of this replica.
    uint64_t epoch = 0;
    size_t max_log_bytes = size_t{64} << 20;
    size_t min_checkpoint_bytes = size_t{4} << 20;  // Of the log, between two checkpoints.
    uint64_t min_truncated = 256;                   // Entries; a truncation costs a compaction.
    std::chrono::milliseconds interval{500};
    Clock* clock = nullptr;  // Borrowed. Of the times in the log.
    // Called once, by the thread, when the log names another replica as the next owner.
    std::function<void(const std::string& successor)> on_successor;
  };

  // `log` and `storage` are borrowed.
  Maintenance(ReplicatedLog* log, storage::ReplicatedStorage* storage, Options options);
  ~Maintenance() { Stop(); }
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;

  // Blocks: for a request that is under way. To interrupt a checkpoint, cut the storage first.
  void Stop();
  // Ok, or why the last round failed.
  Status Problem() const WQ_EXCLUDES(mu_);

  // One round; for simulations, which have no thread.
  static Status Round(ReplicatedLog* log, storage::ReplicatedStorage* storage,
                      const Options& options, std::deque<std::pair<LogSequence, uint64_t>>* sizes,
                      LogState* state);

 private:
  void Run();

  ReplicatedLog* const log_;
  storage::ReplicatedStorage* const storage_;
  const Options options_;
  // The bytes that were appended up to some sequences of this ownership, the oldest first.
  std::deque<std::pair<LogSequence, uint64_t>> sizes_;

  mutable Mutex mu_;
  CondVar stop_cv_;
  bool stopped_ WQ_GUARDED_BY(mu_) = false;
  Status problem_ WQ_GUARDED_BY(mu_);

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace wq
