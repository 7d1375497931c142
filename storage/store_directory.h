// What a path is, before RocksDB touches anything: a store, nothing, or somebody else's directory.
// Internal to storage/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wq/status.h"

namespace wq::storage {

inline constexpr const char* kFormatFile = "FORMAT";

// In a store that nobody may own, since it is to stay what it was at one moment: a line
// "wq-snapshot 1 <microseconds since 1970>".
inline constexpr const char* kSnapshotFile = "SNAPSHOT";

// The contents of FORMAT: "wq-store <version> <uuid>\n".
struct Format {
  uint32_t version = 0;
  std::string uuid;
};

enum class DirectoryState : uint8_t {
  kMissing,     // There is nothing of this name.
  kEmpty,       // A directory without files.
  kUnfinished,  // A store without FORMAT: its creation was interrupted, or FORMAT was lost.
  kForeign,     // Holds files that are not a store's.
  kStore,       // A store of this version, to all appearance.
};

struct DirectoryInfo {
  DirectoryState state = DirectoryState::kMissing;
  Format format;              // Of a kStore.
  std::string foreign_file;   // The first one that is not a store's, in a kForeign.
  bool has_database = false;  // CURRENT is there.
  bool is_snapshot = false;   // SNAPSHOT is there.
};

// Changes nothing. InvalidArgument: `dir` is a symlink. NotFound: not a directory. NotSupported:
// another format version. Corruption: a damaged FORMAT, or files without which a store cannot be
// whole are missing.
Status InspectDirectory(const std::string& dir, DirectoryInfo* look);

// When the snapshot was taken. NotFound: it is none. Corruption: a damaged SNAPSHOT.
Status ReadSnapshotTime(const std::string& dir, int64_t* taken_at_us);
Status WriteSnapshotTime(const std::string& dir, int64_t taken_at_us);

// Whether a store may hold a file of this name.
bool IsStoreFile(std::string_view name);

// "NotFound: <dir> is not a wq store ...", in the words that fit what was found.
// REQUIRES: look.state is not kStore.
Status NotAStore(const std::string& dir, const DirectoryInfo& look);

// Makes `dir` with mode 0700, its parent synced. Ok also if somebody else makes it at the same
// moment.
Status MakeDirectory(const std::string& dir);

// The last step of creation.
Status WriteFormat(const std::string& dir, const Format& format);

std::string NewUuid();

// Without slashes at the end: lstat("link/") would follow the link.
std::string WithoutTrailingSlashes(const std::string& dir);

}  // namespace wq::storage
