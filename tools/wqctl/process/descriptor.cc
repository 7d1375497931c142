#include "tools/wqctl/process/descriptor.h"

#include <sys/types.h>

#include <array>
#include <cstddef>

namespace wqctl {

bool ReadWhole(int fd, std::string* text) {
  std::array<char, 4096> buffer;
  text->clear();
  while (true) {
    const ssize_t n = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text->size()));
    if (n <= 0) return n == 0;
    text->append(buffer.data(), static_cast<size_t>(n));
  }
}

}  // namespace wqctl
