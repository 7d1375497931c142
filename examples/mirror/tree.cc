#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>

#include "wq/keys.h"
#include "wq/source.h"

namespace mirror {
namespace {

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

bool IsMirrored(std::string_view path) {
  if (path == ".") {
    return true;
  }
  if (path.substr(0, path.find('/')) == kStaging || path.find('\0') != std::string_view::npos) {
    return false;
  }
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name.empty() || name == "." || name == "..") {
      return false;
    }
    at = end + 1;
  }
  return true;
}

std::string Join(std::string_view directory, std::string_view name) {
  return directory == "." ? std::string(name) : std::string(directory) + "/" + std::string(name);
}

std::pair<std::string, std::string> Split(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return {".", std::string(path)};
  }
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

bool HasVanished(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

wq::Status IoError(std::string_view what, std::string_view path) {
  const std::string error = std::generic_category().message(errno);
  return wq::Status::IOError(std::string(what) + " " + wq::EscapeKey(path) + ": " + error);
}

wq::Status ErrnoStatus(std::string_view what, std::string_view path) {
  const bool has_vanished = HasVanished(errno);
  wq::Status s = IoError(what, path);
  return has_vanished ? wq::Status::NotFound(s.message()) : s;
}

Fd OpenDirectory(int root, std::string_view path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd directory(openat(root, ".", kFlags));
  for (size_t at = 0; path != "." && directory.ok() && at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    directory = Fd(openat(directory.get(), std::string(path.substr(at, end - at)).c_str(), kFlags));
    at = end + 1;
  }
  return directory;
}

bool IsSameDirectory(const Fd& a, const Fd& b) {
  struct stat of_a = {};
  struct stat of_b = {};
  return a.ok() && b.ok() && fstat(a.get(), &of_a) == 0 && fstat(b.get(), &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

bool IsKind(mode_t mode) { return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode); }

bool List(int directory, Entries* entries) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy < 0 ? nullptr : fdopendir(copy), closedir);
  if (stream == nullptr) {
    return false;
  }
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) {
      return errno == 0;
    }
    const std::string name = entry->d_name;
    struct stat st = {};
    if (name != "." && name != ".." &&
        fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      entries->emplace(name, st);
    }
  }
}

int64_t FileTime() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return Nanoseconds(now);
}

std::string Version(const struct stat& st, int64_t before) {
  std::string same = std::to_string(st.st_mode) + " " + std::to_string(st.st_ino);
  if (S_ISDIR(st.st_mode)) {
    return same;
  }
  const int64_t changed = Nanoseconds(st.st_ctim);
  // A later one is from before the clock was set back.
  if (changed >= before && changed < before + 1'000'000'000) {
    return {};
  }
  return same + " " + std::to_string(st.st_size) + " " + std::to_string(Nanoseconds(st.st_mtim)) +
         " " + std::to_string(changed);
}

std::string ObjectOf(const std::string& path) {
  return path.size() <= wq::kMaxObjectBytes
             ? path
             : path.substr(0, 1000) + std::to_string(std::hash<std::string>()(path));
}

}  // namespace mirror
