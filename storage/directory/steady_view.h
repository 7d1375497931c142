// Reading a store's files beside a running owner, so that what was read belongs together. Internal
// to storage/.
//
//   Status s = ReadSteadily(
//       dir, [&] { return ReadTheFiles(); },
//       [](const Status&, const FilesState& before, const FilesState& after) {
//         return after.HasAllLogsOf(before) && after.SameManifest(before);
//       });
//
// An owner flushes, writes that into the manifest, and only then removes logs and tables. Logs and
// the manifest are only ever appended to, and no file's name is used twice. So comparing the files
// before and after shows whether the owner can have changed what was read in between. Threading:
// plain data.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "wq/status.h"

namespace wq::storage {

// Which files a store has, and how long its manifest is, at one instant.
struct FilesState {
  std::string current;  // The contents of CURRENT: the manifest's name.
  off_t manifest_bytes = -1;
  std::vector<std::string> names;  // Of all files, sorted.

  // What cannot be read is left empty.
  static FilesState Of(const std::string& dir);
  bool SameManifest(const FilesState& other) const {
    return current == other.current && manifest_bytes == other.manifest_bytes;
  }
  bool HasAllLogsOf(const FilesState& other) const;
  bool operator==(const FilesState&) const = default;
};

// Calls `read` until `counts` accepts its outcome, given the files before and after it, and returns
// that outcome. IOError after `max_attempts`: the owner changes the files too often.
Status ReadSteadily(const std::string& dir, const std::function<Status()>& read,
                    const std::function<bool(const Status& outcome, const FilesState& before,
                                             const FilesState& after)>& counts,
                    int max_attempts = 100);

}  // namespace wq::storage
