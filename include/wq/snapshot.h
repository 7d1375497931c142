// Snapshots: what a store held at one moment, kept, looked at, and made a store again.
//
//   wq::SnapshotInfo taken;
//   wq::Status s = wq::CreateSnapshot("/var/lib/pods.wq", "/backup/pods", {}, &taken);
//   std::cout << taken.path << "\n";          // "/backup/pods/20261121T142317.123456Z"
//   s = wq::RestoreSnapshot("/backup/pods", "/var/lib/pods.new.wq", {}, &from);   // The latest.
//
// A snapshot is a directory like a store's: StoreView, Verify, wqctl's looks and diff take it as one.
// Nobody can own it, so it stays what it is. Works on a store that is closed or has crashed, and beside a
// running owner, who takes no part in it and goes on: all is in it that was acknowledged at kProcess
// or kPower before (for kAsync, Flush first), and what else is in it is a prefix of what came after.
// In the store's file system the tables are hard links, so a snapshot costs little more than the
// write-ahead log, and time even less; but damage to a table on the disk is damage to both. In another
// one they are copied, those apart that an earlier snapshot in the same place has already.
// Threading: thread-safe. A crash leaves a directory ".creating", or NEW.restoring beside NEW, which the
// next call removes. Nothing is ever left under its own name that is not whole, verified and synced.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "wq/status.h"

namespace wq {

struct SnapshotInfo {
  std::string name;  // Of its directory.
  std::string path;
  std::string uuid;         // Of the store that it was taken of.
  int64_t taken_at_us = 0;  // Wall time.
  uint64_t bytes = 0;       // Of all its files.
  uint64_t linked_bytes =
      0;  // Of these, in tables that others (the store, other snapshots) have, too.
};

struct SnapshotOptions {
  // 1 to 64 of [A-Za-z0-9._-], not with a dot in front. Empty: the present time, as above, so that
  // names sort by time.
  std::string name = {};
  // Without it the tables are copied even where they could be links: against damage on the disk.
  bool link_tables = true;
  // Asked now and then; true ends the call with IOError, and nothing is left. nullptr: never.
  std::function<bool()> cancelled = nullptr;
};

// Puts a snapshot of `store` into the directory `dir`, which is made if it is missing. Its files are
// verified, block by block, before it gets its name.
//   NotFound        `store` is not a store. NotSupported: of another format version.
//   InvalidArgument a bad name; a symbolic link.
//   AlreadyExists   there is one of this name.
//   Locked          another process is making one in `dir`.
//   Corruption      the store is damaged; the message names the file.
//   IOError         something could not be read or written: no space, no permission, …
// Blocks: for reading all of the store, and writing what cannot be linked.
Status CreateSnapshot(const std::string& store, const std::string& dir,
                      const SnapshotOptions& options, SnapshotInfo* info);

// The snapshots in `dir`, oldest first; of one that is damaged, what can be told. If `dir` is a snapshot,
// that one. NotFound: there is no such directory, or it holds none. IOError: something could not be read;
// what others may not look into (lost+found) is passed over.
Status ListSnapshots(const std::string& dir, std::vector<SnapshotInfo>* snapshots);

struct RestoreOptions {
  std::function<bool()> cancelled = nullptr;
};

// Makes a store of a snapshot at `into`, where nothing or an empty directory may be; `snapshot` is one,
// or a directory of them, and then it is the latest. `from` says which it was. The files are copied and
// verified. The new store has a uuid of its own: it is another one than that which the snapshot was
// taken of, which may live, and has gone on since. Nobody owns it yet. Queues, keys, delays, failures,
// cursors and times are those of the snapshot.
//   NotFound        there is no snapshot. NotSupported: of another format version.
//   AlreadyExists   there is something at `into`. Locked: somebody else restores into it now.
//   Corruption      the snapshot is damaged. IOError: as above.
// Blocks: for reading and writing all of it.
Status RestoreSnapshot(const std::string& snapshot, const std::string& into,
                       const RestoreOptions& options, SnapshotInfo* from);

}  // namespace wq
