// A directory for a fuzz target, in memory where there is such a place, and its input as a file in
// it. Made once a process; removed when that ends in order.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "storage/check.h"

namespace wq::fuzz {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    path_ = std::filesystem::exists("/dev/shm") ? "/dev/shm/wq-fuzz-XXXXXX" : "wq-fuzz-XXXXXX";
    WQ_CHECK(mkdtemp(path_.data()) != nullptr, "no scratch directory");
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const uint8_t* data, size_t size) const {
    const std::string path = path_ + "/" + name;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    WQ_CHECK(fd >= 0 && write(fd, data, size) == static_cast<ssize_t>(size), "cannot write");
    close(fd);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace wq::fuzz
