#include "storage/store_files.h"

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
  StoreFilesInfo look;
  std::vector<std::string> names;
  if (!ListDirectory(dir, &names).ok()) return look;
  for (const std::string& name : names) {
    struct stat info = {};
    if (lstat((dir + "/" + name).c_str(), &info) != 0) continue;  // An owner may have removed it.
    const bool log = name.ends_with(".log");
    if (log) look.wal_bytes += static_cast<uint64_t>(info.st_size);
    if (log || name.ends_with(".sst")) {
      look.written_at_us = std::max(look.written_at_us, ModifiedUs(info));
    }
    if (name == "OWNER") look.opened_at_us = ModifiedUs(info);
  }
  return look;
}

}  // namespace wq::storage
