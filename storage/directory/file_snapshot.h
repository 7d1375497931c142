// FileSnapshot: what tells a reader of a store's files that a running owner has not changed them under it.
// Internal to storage/.
//
//   const FileSnapshot before = FileSnapshot::Of(dir);
//   …                                        // Opens the manifest, the tables, the logs.
//   const FileSnapshot after = FileSnapshot::Of(dir);
//   if (after.HasAllLogsOf(before) && after.SameManifest(before)) …  // They belong together.
//
// An owner flushes, writes that into the manifest, and only then removes logs and tables. Logs and the
// manifest are only ever appended to, and no file's name is used twice. Threading: plain data.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace wq::storage {

struct FileSnapshot {
  std::string current;  // The contents of CURRENT: the manifest's name.
  off_t manifest_bytes = -1;
  std::vector<std::string> logs;  // Sorted.

  static FileSnapshot Of(const std::string& dir);
  bool SameManifest(const FileSnapshot& other) const {
    return current == other.current && manifest_bytes == other.manifest_bytes;
  }
  bool HasAllLogsOf(const FileSnapshot& other) const;
  std::string ManifestName() const { return current.substr(0, current.find('\n')); }
};

}  // namespace wq::storage
