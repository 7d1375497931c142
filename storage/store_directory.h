// What a path is, before RocksDB opens anything: a store, empty, or a directory of other files; and
// what is said of one that is refused. The files FORMAT, SNAPSHOT and CLAIM in a store. Also the
// sizes and times of its files.
//
//   DirectoryInfo found;
//   Status s = InspectDirectory("/var/lib/pods.wq", &found);
//   if (s.ok() && found.state == DirectoryState::kStore) …
//
// Internal to storage/ and engine/. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wq/status.h"

namespace wq::storage {

inline constexpr const char* kFormatFile = "FORMAT";

// In a store that must not be changed, since it is a snapshot: a line
// "wq-snapshot 1 <microseconds since 1970>".
inline constexpr const char* kSnapshotFile = "SNAPSHOT";

// The contents of FORMAT: "wq-store <version> <uuid>\n".
struct Format {
  uint32_t version = 0;
  std::string uuid;
};

// In a directory that is being made a replica: a line "wq-claim 1 <uuid>", with the uuid that the
// store is to have if its log is no store's yet. It is there before the log is claimed, and until
// the replica is whole: so an opening that fails or is killed in between is continued by the next
// one, which can tell the first replica of a log from all others.
inline constexpr const char* kClaimFile = "CLAIM";

enum class DirectoryState : uint8_t {
  kMissing,     // Nothing has this name.
  kEmpty,       // A directory without files.
  kUnfinished,  // A store without FORMAT: its creation was interrupted, or FORMAT was lost.
  kForeign,     // Contains files that are not a store's.
  kStore,       // Has FORMAT, of this version, and CURRENT.
};

struct DirectoryInfo {
  DirectoryState state = DirectoryState::kMissing;
  Format format;             // Of a kStore.
  std::string foreign_file;  // The first file of a kForeign that is not a store's.
  // Of a kForeign: it holds only files of RocksDB. A store that lost FORMAT and OWNER looks like
  // this, and so does the database of another program.
  bool only_database = false;
  bool has_database = false;  // CURRENT is there.
  bool is_snapshot = false;   // SNAPSHOT is there.
  bool has_claim = false;     // CLAIM is there.
  // An UnfinishedDirectory: it is being made, or that was interrupted. Not to be used.
  bool is_being_made = false;

  bool IsWholeStore() const { return state == DirectoryState::kStore && !is_being_made; }
};

// Changes nothing.
//   InvalidArgument  `dir` is empty, or a symlink.
//   NotFound         it is not a directory.
//   NotSupported     a store of another format version.
//   Corruption       FORMAT is damaged, or CURRENT is missing.
Status InspectDirectory(const std::string& dir, DirectoryInfo* found);

// Ok if no directory above `path`, which may be missing, is a store, a snapshot, or what is left of
// one: what is made at `path` would be a foreign file of it. Follows links. Changes nothing.
//   InvalidArgument  names the directory.
Status CheckOutsideStores(const std::string& path);

// When the snapshot was taken. NotFound: there is no SNAPSHOT. Corruption: it is damaged.
Status ReadSnapshotTime(const std::string& dir, int64_t* taken_at_us);
Status WriteSnapshotTime(const std::string& dir, int64_t taken_at_us);

// NotFound: there is no CLAIM. Corruption: it is damaged.
Status ReadClaim(const std::string& dir, std::string* uuid);
Status WriteClaim(const std::string& dir, const std::string& uuid);
// Ok if there is none. Durable when it returns Ok.
Status RemoveClaim(const std::string& dir);

// Whether a store may hold a file of this name.
bool IsStoreFile(std::string_view name);

struct StoreFilesInfo {
  uint64_t wal_bytes = 0;
  uint64_t process_log_bytes = 0;
  int64_t opened_at_us = 0;   // The last write of OWNER, which is an owner's first.
  int64_t written_at_us = 0;  // The last write of any log or table.
};

// Read without opening the files. A value that cannot be read is 0. Changes nothing.
StoreFilesInfo InspectStoreFiles(const std::string& dir);

// NotFound with a message that says what was found instead of a store.
// REQUIRES: !found.IsWholeStore().
Status NotAStore(const std::string& dir, const DirectoryInfo& found);

// What every call returns that opens or reads a store: the error of a check, which says what is
// wrong and names the file; of Corruption and of a full disk, also what to do next. Adding that
// again changes nothing.
//   "/s/000012.sst is missing, which MANIFEST-000005 names; run wqctl --store /s verify, then
//    restore a snapshot or run wqctl --store /s repair --into NEW"
Status Refused(const std::string& dir, Status status);

// The message without what to do next: for a list of findings.
std::string WhatIsWrong(const std::string& dir, const Status& refused);

// Makes `dir` with mode 0700 and syncs its parent. Ok if it exists.
Status MakeDirectory(const std::string& dir);

// The last step of creating a store. Durable when it returns Ok.
Status WriteFormat(const std::string& dir, const Format& format);

std::string NewUuid();  // Random: version 4 of RFC 4122.

// Removes slashes at the end: lstat("link/") would follow the link.
std::string WithoutTrailingSlashes(const std::string& dir);

}  // namespace wq::storage
