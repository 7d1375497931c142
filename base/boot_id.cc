#include "base/boot_id.h"

#include "base/files.h"

namespace wq {

std::string BootId() {
  std::string id;
  if (!ReadSmallFile("/proc/sys/kernel/random/boot_id", 64, &id).ok()) return {};
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace wq
