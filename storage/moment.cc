#include "storage/moment.h"

#include <sys/stat.h>

#include <algorithm>

#include "storage/files.h"

namespace wq::storage {

Moment Moment::Of(const std::string& dir) {
  Moment moment;
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

bool Moment::HasAllLogsOf(const Moment& other) const {
  return std::includes(logs.begin(), logs.end(), other.logs.begin(), other.logs.end());
}

}  // namespace wq::storage
