// ReplicatedLog: the log by which replicas of a store follow its owner (docs/replication.md).
//
//   std::shared_ptr<wq::ReplicatedLog> log;
//   wq::Status s = wq::OpenEtcdLog({.endpoints = {"10.0.0.1:2379"}, .prefix = "/wq/pods"}, &log);
//   wq::Replication replication{.log = log, .name = "node-1"};
//   s = wq::Store::Open({.replication = replication}, "/var/lib/pods.wq", &store);
//
// A log belongs to one store and is kept by an engine that survives the loss of a machine. It has
// entries, numbered from 1 without a gap, and at most one owner, who holds a lease and alone may
// append. An epoch numbers an ownership: epochs only grow, and no two ownerships have the same one.
// A program makes a log, and passes it to Store::Open; it calls nothing below. The functions are
// public so that another engine than etcd can implement them.
//
// What an implementation promises:
//   - An Append, Truncate, EraseFrom, or change of a checkpoint of an epoch that is not the owner's
//     any more changes nothing, however late it reaches the engine: it is refused by the engine, in
//     the same step that would make the change, with NotOwner.
//   - What Append has acknowledged is never lost, and is seen by every later Read.
//   - Any call may fail with IOError: the engine cannot be reached in time, or refuses the call;
//     the message names the endpoint and the reason. The outcome of a change is then unknown: the
//     caller repeats the call with the same arguments, which never makes a change twice.
//
// Threading: thread-safe. Blocks: for a request to the engine, at most the implementation's request
// timeout. Lifetime: shared; the store keeps its log. A crash: of a process that uses it, changes
// nothing in the log; its ownership ends when the lease has run out.
#pragma once

#include "wq/cxx20.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace wq {

using LogSequence = uint64_t;  // Of an entry; the first is 1.

// Longer entries are not appended: larger ones make etcd slow, and its memory large.
inline constexpr size_t kMaxLogEntryBytes = size_t{64} << 10;

struct LogEntry {
  LogSequence sequence = 0;
  std::string bytes;
};

struct LogOwner {
  uint64_t epoch = 0;  // 0: nobody owns the log.
  std::string name;
};

// An ownership, as its owner has it.
struct LogLease {
  uint64_t epoch = 0;
  int64_t id = 0;  // The engine's own.
  // How long the lease lasts from the sending of the request that granted or renewed it.
  std::chrono::milliseconds ttl{0};
};

// A copy of all rows of the store as they are after the entry `sequence`: where a replica begins.
struct LogCheckpoint {
  std::string id;            // Never used for another checkpoint. 1 to 128 bytes, no slash.
  LogSequence sequence = 0;  // 0: before the first entry.
  uint64_t parts = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;      // Of all parts.
  int64_t made_at_us = 0;  // Wall time.
};

// What a replica says about itself.
struct LogReplica {
  std::string name;
  LogSequence applied = 0;
  int64_t seen_at_us = 0;  // Wall time of its last report.
};

// One member of the engine, for `wqctl replication status` and metrics.
struct LogMember {
  std::string endpoint;
  bool reachable = false;
  std::string problem;  // Empty, or why it is not reachable, or its alarm.
  bool leads = false;
  uint64_t database_bytes = 0;
};

// The state of a log at one instant.
struct LogState {
  std::string store_uuid;  // Empty: no store uses this log yet.
  LogOwner owner;
  std::string successor;  // The replica that is to own the log next; empty: any.
  LogSequence first = 0;  // The first entry that is kept; last + 1 if there is none.
  LogSequence last = 0;   // 0: there was never an entry.
  uint64_t bytes = 0;     // About how many bytes the entries take; 0: unknown.
  std::optional<LogCheckpoint> checkpoint;
  std::vector<LogReplica> replicas;  // By name.
};

// What a follower sees next: some of these, in order.
struct LogEvents {
  // The next ones, without a gap. After an EraseFrom the entries from there on come anew.
  std::vector<LogEntry> entries;
  std::optional<LogOwner> owner;         // Set if it has changed; the latest.
  std::optional<std::string> successor;  // Set if it has changed.
};

// Follows a log. Thread-compatible, except Interrupt.
class LogFollower {
 public:
  virtual ~LogFollower() = default;
  // Waits up to `timeout` for a change, and appends what has changed since the last call. The first
  // call reports the owner and the successor as they are. Ok with nothing: the time is over, or
  // Interrupt was called.
  //   NotFound   the next entry was truncated. The follower is of no use any more.
  //   IOError    the engine cannot be reached; the next call tries again.
  virtual Status Next(std::chrono::milliseconds timeout, LogEvents* events) = 0;
  // Makes a Next that waits, or else the next Next, return. Thread-safe.
  virtual void Interrupt() = 0;
};

class ReplicatedLog {
 public:
  virtual ~ReplicatedLog() = default;

  // Where the log is, for messages: "etcd 10.0.0.1:2379 /wq/pods".
  virtual std::string Name() const = 0;

  // --- The store ---

  // Makes the log that of the store `uuid` unless it is some store's already. *uuid: the store
  // whose log it is afterwards.
  virtual Status Claim(std::string* uuid) = 0;
  // Reads the state, all of one instant.
  virtual Status State(LogState* state) = 0;
  // The engine's members. An unreachable member is a LogMember with a problem, and not an error.
  virtual std::vector<LogMember> Members() = 0;
  // Deletes the log with everything in it. Locked: it has an owner, or `force` is off and it has
  // replicas.
  virtual Status Destroy(bool force) = 0;

  // --- Ownership ---

  // Makes `name` the owner. Locked: another one is; the message names it.
  virtual Status Acquire(std::string_view name, std::chrono::milliseconds lease,
                         LogLease* owned) = 0;
  // Lets the lease begin anew, and sets owned->ttl. NotOwner: it has run out.
  virtual Status Renew(LogLease* owned) = 0;
  // Ends the ownership at once.
  virtual Status Release(const LogLease& owned) = 0;
  // Names the replica that is to own the log next; empty: any. The owner resigns when it sees it.
  virtual Status SetSuccessor(std::string_view name) = 0;

  // --- Entries ---

  // Appends the entry `sequence`. REQUIRES: it is the last entry's plus 1, or this call is the
  // repetition of one that returned IOError; bytes.size() <= kMaxLogEntryBytes.
  //   NotOwner     the epoch has ended. The entry is not in the log, and will not be.
  //   Corruption   the log has another entry of this sequence.
  virtual Status Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) = 0;
  // Erases the entries from `sequence` on: the last ones, which a former owner left unfinished.
  // Once this epoch has appended an entry it erases nothing, and is Ok: the call is a repetition.
  virtual Status EraseFrom(uint64_t epoch, LogSequence sequence) = 0;
  // Erases the entries before `sequence`.
  virtual Status Truncate(uint64_t epoch, LogSequence sequence) = 0;
  // Appends to *entries those from `sequence` on, until their bytes exceed `max_bytes`; none: the
  // log ends there. NotFound: the entry was truncated.
  virtual Status Read(LogSequence sequence, size_t max_bytes, std::vector<LogEntry>* entries) = 0;
  // Follows the log from the entry `sequence` on.
  virtual std::unique_ptr<LogFollower> Follow(LogSequence sequence) = 0;

  // --- Checkpoints ---

  // Writes the part `index` of a checkpoint; part 0 may erase what was begun and not committed.
  // Parts have at most kMaxLogEntryBytes. REQUIRES: one that is written again has the same bytes.
  virtual Status PutCheckpointPart(uint64_t epoch, std::string_view id, uint64_t index,
                                   std::string_view bytes) = 0;
  // Makes `checkpoint` the log's, and erases the parts of all others. Without effect if the log's
  // is of a later entry: the call is a repetition.
  virtual Status CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) = 0;
  // NotFound: the checkpoint was replaced by a later one.
  virtual Status ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) = 0;

  // --- Replicas ---

  virtual Status PutReplica(const LogReplica& replica) = 0;
  // NotFound: there is none of this name.
  virtual Status RemoveReplica(std::string_view name) = 0;
};

}  // namespace wq
