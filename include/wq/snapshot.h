// Snapshots: copies of a store as it was at one instant; created, listed and restored.
//
//   wq::SnapshotInfo taken, from;
//   wq::Status s = wq::CreateSnapshot("/var/lib/pods.wq", "/backup/pods", {}, &taken);
//   std::cout << taken.path << "\n";          // "/backup/pods/20261121T142317.123456Z"
//   s = wq::RestoreSnapshot("/backup/pods", "/var/lib/pods.new.wq", {}, &from);   // The latest.
//
// A snapshot is a directory like a store's: StoreView, Verify and the reading commands of wqctl
// accept it. No process can own it, so it never changes. Works on a store that is
// closed or has crashed, and beside a running owner, which takes no part in it and is not paused.
// The snapshot has everything that was acknowledged at kProcess or kPower before it (for kAsync
// without a process log, Flush first), and a prefix of the calls after that. In the store's file
// system the tables are hard links: a snapshot is fast, and takes little more space than the
// write-ahead log; but damage to a table on the disk damages both. In another file system the
// tables are copied, except those that an earlier snapshot in `dir` already has.
// Threading: thread-safe. Lifetime: keeps nothing after the call. A crash: leaves a directory
// ".creating", or NEW.restoring beside NEW, with a file UNFINISHED in it: it cannot be opened, and
// the next call removes it. A snapshot or store under its own name is always complete, verified and
// synced.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wq/status.h"
#include "wq/verify.h"

namespace wq {

struct SnapshotInfo {
  std::string name;  // Of its directory.
  std::string path;
  std::string uuid;           // Of its store.
  int64_t taken_at_us = 0;    // Wall time.
  uint64_t bytes = 0;         // Of all its files.
  uint64_t linked_bytes = 0;  // Of these, in tables that the store or other snapshots share.
};

struct SnapshotOptions {
  // The directory's name: 1 to 64 of [A-Za-z0-9._-], not starting with a dot. Default: empty, the
  // present time as above, so that names sort by time.
  std::string name = {};
  // Links tables where the file system permits it. Off: copies them, which costs space and time,
  // and protects against damage on the disk. Default: on.
  bool link_tables = true;
  // Called repeatedly during the call; true ends it with IOError, and nothing is left. Default:
  // nullptr, never.
  std::function<bool()> cancelled = nullptr;
  // Told how far the call is: "copying files", "checking files". Default: nullptr, nobody.
  ProgressCallback progress = nullptr;
};

// Creates a snapshot of `store` in the directory `dir`, which is created if it is missing. Its
// files are verified, block by block, before it gets its name.
//   NotFound         `store` is not a store.
//   NotSupported     `store` has another format version, or is a replica that is not complete.
//   InvalidArgument  an invalid name; a symbolic link; `dir` is a store, or inside one.
//   AlreadyExists    a snapshot of this name exists; or `dir`/.creating has files, and no call has
//                    made it.
//   Locked           another process is creating a snapshot in `dir`.
//   Corruption       the store is damaged; the message names the file.
//   IOError          a file could not be read or written: no space, no permission, …
// Blocks: for reading the whole store, and writing what cannot be linked.
Status CreateSnapshot(const std::string& store, const std::string& dir,
                      const SnapshotOptions& options, SnapshotInfo* info);

// Lists the snapshots in `dir`, oldest first; of a damaged snapshot, the fields that can be read.
// If `dir` is a snapshot, lists that.
//   NotFound  `dir` does not exist, or holds no snapshot.
//   IOError   a file could not be read. Directories without permission (lost+found) are skipped.
Status ListSnapshots(const std::string& dir, std::vector<SnapshotInfo>* snapshots);

struct RestoreOptions {
  // As SnapshotOptions::cancelled.
  std::function<bool()> cancelled = nullptr;
  // As SnapshotOptions::progress.
  ProgressCallback progress = nullptr;
};

// Restores a snapshot as a store at `into`, which must not exist, or be an empty directory.
// `snapshot` is a snapshot, or a directory of snapshots, of which the latest is restored; `from`
// receives its info. The files are copied and verified. The new store has a new uuid, because the
// snapshot's store may still be in use and has changed since. It has no owner yet. Queues, keys,
// delays, failures, cursors and times are those of the snapshot.
//   NotFound       the snapshot does not exist.
//   NotSupported   it has another format version, or is of a replica that was not complete.
//   InvalidArgument `into` is inside a store or a snapshot, or is a mount point.
//   AlreadyExists  `into` exists and is not an empty directory; or NEW.restoring has files, and no
//                  call has made it.
//   Locked         another process is restoring into `into`.
//   Corruption     the snapshot is damaged.
//   IOError        as above.
// Blocks: for reading and writing the whole store.
Status RestoreSnapshot(const std::string& snapshot, const std::string& into,
                       const RestoreOptions& options, SnapshotInfo* from);

}  // namespace wq
