#include "storage/store_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "base/files.h"

namespace wq::storage {
namespace {

int64_t ModifiedUs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000 + info.st_mtim.tv_nsec / 1'000;
}

}  // namespace

StoreFilesInfo InspectStoreFiles(const std::string& dir) {
  StoreFilesInfo found;
  std::vector<std::string> names;
  if (!ListDirectory(dir, &names).ok()) return found;
  for (const std::string& name : names) {
    struct stat info = {};
    if (lstat((dir + "/" + name).c_str(), &info) != 0) continue;  // An owner may have removed it.
    const bool log = name.ends_with(".log");
    if (log) found.wal_bytes += static_cast<uint64_t>(info.st_size);
    if (name.ends_with(".ring")) found.process_log_bytes += static_cast<uint64_t>(info.st_size);
    if (log || name.ends_with(".sst")) {
      found.written_at_us = std::max(found.written_at_us, ModifiedUs(info));
    }
    if (name == "OWNER") found.opened_at_us = ModifiedUs(info);
  }
  return found;
}

}  // namespace wq::storage
