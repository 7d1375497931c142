#include "storage/directory/steady_view.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/files.h"
#include "storage/owner.h"

namespace wq::storage {

FilesState FilesState::Of(const std::string& dir) {
  FilesState state;
  struct stat info;
  if (ReadSmallFile(dir + "/CURRENT", 256, &state.current).ok() &&
      stat((dir + "/" + state.current.substr(0, state.current.find('\n'))).c_str(), &info) == 0) {
    state.manifest_bytes = info.st_size;
  }
  if (!ListDirectory(dir, &state.names).ok()) state.names.clear();
  return state;
}

bool FilesState::HasAllLogsOf(const FilesState& other) const {
  return std::all_of(other.names.begin(), other.names.end(), [this](const std::string& name) {
    return !name.ends_with(".log") || std::binary_search(names.begin(), names.end(), name);
  });
}

Status ReadSteadily(const std::string& dir, const std::function<Status()>& read,
                    const std::function<bool(const Status& outcome, const FilesState& before,
                                             const FilesState& after)>& counts,
                    int max_attempts) {
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    const FilesState before = FilesState::Of(dir);
    Status outcome = read();
    if (counts(outcome, before, FilesState::Of(dir))) return outcome;
  }
  return Status::IOError(dir + ": its owner, " + DescribeOwner(dir) +
                         ", is too busy for a steady view; try again");
}

}  // namespace wq::storage
