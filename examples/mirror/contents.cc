#include "contents.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <vector>

namespace mirror {
namespace {

constexpr size_t kChunk = 128 << 10;

// Reads until `buffer` is full or the file ends. -1: errno has the error.
ssize_t ReadFully(int fd, std::vector<char>* buffer) {
  size_t size = 0;
  while (size < buffer->size()) {
    const ssize_t n = read(fd, buffer->data() + size, buffer->size() - size);
    if (n == 0) {
      break;
    }
    if (n < 0 && errno != EINTR) {
      return -1;
    }
    size += n > 0 ? static_cast<size_t>(n) : 0;
  }
  return static_cast<ssize_t>(size);
}

bool WriteFully(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno != EINTR) {
      return false;
    }
    data += n > 0 ? n : 0;
    size -= n > 0 ? static_cast<size_t>(n) : 0;
  }
  return true;
}

}  // namespace

bool HasSameContents(int one, int other, const std::stop_token& stop) {
  std::vector<char> ones(kChunk);
  std::vector<char> others(kChunk);
  while (!stop.stop_requested()) {
    const ssize_t n = ReadFully(one, &ones);
    if (n < 0 || ReadFully(other, &others) != n ||
        !std::equal(ones.begin(), ones.begin() + n, others.begin())) {
      return false;
    }
    if (n == 0) {
      return true;
    }
  }
  return false;
}

bool CopyContents(int in, int out, const std::stop_token& stop) {
  std::vector<char> buffer(kChunk);
  bool fine = lseek(in, 0, SEEK_SET) == 0;
  for (ssize_t n = -1; fine && n != 0;) {
    n = ReadFully(in, &buffer);
    fine =
        n >= 0 && WriteFully(out, buffer.data(), static_cast<size_t>(n)) && !stop.stop_requested();
  }
  return fine;
}

std::optional<std::string> ReadLink(int directory, const std::string& name) {
  std::string text(PATH_MAX, '\0');
  const ssize_t n = readlinkat(directory, name.c_str(), text.data(), text.size());
  if (n < 0) {
    return std::nullopt;
  }
  text.resize(static_cast<size_t>(n));
  return text;
}

}  // namespace mirror
