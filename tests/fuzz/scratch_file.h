// ScratchFiles: a directory for a fuzz target's input as files. Made once for a process, and
// removed at its normal end.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/check.h"
#include "tests/support/environment.h"

namespace wq::fuzz {

class ScratchFiles {
 public:
  const std::string& path() const { return directory_.path(); }
  std::string Write(const std::string& name, const uint8_t* data, size_t size) const {
    const std::string path = directory_ / name;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    WQ_CHECK(fd >= 0 && write(fd, data, size) == static_cast<ssize_t>(size), "cannot write");
    close(fd);
    return path;
  }

 private:
  const support::ScratchDirectory directory_;
};

}  // namespace wq::fuzz
