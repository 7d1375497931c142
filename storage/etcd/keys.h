// The keys of a log in etcd, and the text of the values that are not the caller's bytes:
//
//   key below the prefix            value
//   ------------------------------  ---------------------------------------------------------------
//   store                           the store's uuid
//   owner                           the owner's name. Bound to the owner's lease; the epoch is this
//                                   key's create_revision
//   successor                       the name of the replica that is to own the log next
//   first                           the number of the first entry that is kept; no key: 1
//   log/<sequence>                  an entry; 16 hex digits
//   checkpoint                      sequence=12 parts=2 rows=70 bytes=4096 made_at_us=1700 id=a3f0
//   checkpoints/<id>/<index>        a part of a checkpoint; 8 hex digits or more
//   replicas/<name>                 applied=12 seen_at_us=1700
//
// `first` is needed because a log may be empty: without it the number of the last entry would be
// forgotten when all are erased.
//
// Another program may have written anything there: each function that reads returns Corruption,
// which names the key, for what this table does not allow.
//
// Threading: immutable; functions. Lifetime: the caller's. A crash: does not concern it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq::etcd {

// The keys from `begin` to before `end`, as etcd's requests have them.
struct KeyRange {
  std::string begin;
  std::string end;
};

class Keys {
 public:
  explicit Keys(std::string_view prefix) : root_(std::string(prefix) + "/") {}

  KeyRange All() const { return Below(root_); }
  std::string Store() const { return root_ + "store"; }
  std::string Owner() const { return root_ + "owner"; }
  std::string Successor() const { return root_ + "successor"; }
  std::string First() const { return root_ + "first"; }
  std::string Entry(LogSequence sequence) const;
  KeyRange EntriesFrom(LogSequence sequence) const;
  KeyRange EntriesBefore(LogSequence sequence) const;
  std::string Checkpoint() const { return root_ + "checkpoint"; }
  std::string Part(std::string_view id, uint64_t index) const;
  KeyRange PartsOfSmallerIds(std::string_view id) const;
  KeyRange PartsOfLargerIds(std::string_view id) const;
  std::string Replica(std::string_view name) const;
  KeyRange Replicas() const { return Below(root_ + "replicas/"); }

  // The reverse of Entry and Replica.
  Status ReadEntryKey(std::string_view key, LogSequence* sequence) const;
  Status ReadReplicaKey(std::string_view key, std::string* name) const;

 private:
  static KeyRange Below(std::string folder);

  std::string root_;  // With the slash at its end.
};

// Whether `id` can be part of a key: 1 to 128 bytes, and no slash.
bool IsCheckpointId(std::string_view id);

// Names of replicas, and the store's uuid: 1 to 512 bytes.
Status ReadName(std::string_view key, std::string_view value, std::string* name);
Status ReadSequence(std::string_view key, std::string_view value, LogSequence* sequence);
Status ReadCheckpoint(std::string_view key, std::string_view value, LogCheckpoint* checkpoint);
Status ReadReplica(std::string_view key, std::string_view value, LogReplica* replica);
std::string CheckpointText(const LogCheckpoint& checkpoint);
std::string ReplicaText(const LogReplica& replica);

// "the key <key> of etcd is damaged: <why>".
Status DamagedKey(std::string_view key, std::string_view why);

}  // namespace wq::etcd
