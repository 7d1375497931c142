#include "storage/directory/file_snapshot.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/files.h"

namespace wq::storage {

FileSnapshot FileSnapshot::Of(const std::string& dir) {
  FileSnapshot moment;
  struct stat info;
  if (ReadSmallFile(dir + "/CURRENT", 256, &moment.current).ok() &&
      stat((dir + "/" + moment.ManifestName()).c_str(), &info) == 0) {
    moment.manifest_bytes = info.st_size;
  }
  std::vector<std::string> names;
  if (ListDirectory(dir, &names).ok()) {
    for (const std::string& name : names) {
      if (name.ends_with(".log")) moment.logs.push_back(name);
    }
  }
  return moment;
}

bool FileSnapshot::HasAllLogsOf(const FileSnapshot& other) const {
  return std::includes(logs.begin(), logs.end(), other.logs.begin(), other.logs.end());
}

}  // namespace wq::storage
