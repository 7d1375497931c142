#include "target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace etcd_mirror {
namespace {

constexpr const char* kRevisions = ".revisions";

// The key as a file's name: each byte but letters, digits, '-' and '_' as %XX.
std::string NameOf(std::string_view key) {
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string name;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_') {
      name += c;
    } else {
      name += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return name;
}

std::string KeyOf(const std::string& name) {
  std::string key;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '%' && i + 2 < name.size()) {
      key += static_cast<char>(std::strtol(name.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      key += name[i];
    }
  }
  return key;
}

wq::Status Failed(const std::string& what, const std::string& path) {
  return wq::Status::IOError(what + " " + path + ": " + std::strerror(errno));
}

// Holds flock(2) on a file.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    locked_ = fd_ >= 0 && flock(fd_, LOCK_EX) == 0;
  }
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool locked() const { return locked_; }

 private:
  const int fd_;
  bool locked_ = false;
};

wq::Status Replace(const std::string& path, const std::string& contents) {
  const std::string made = path + ".new";  // Of the one that has the lock.
  std::ofstream file(made, std::ios::binary | std::ios::trunc);
  file << contents;
  file.close();
  if (!file || rename(made.c_str(), path.c_str()) != 0) return Failed("writing", path);
  return {};
}

}  // namespace

wq::Status Target::Open() {
  std::error_code error;
  std::filesystem::create_directories(dir_ + "/" + kRevisions, error);
  return error ? wq::Status::IOError("making " + dir_ + ": " + error.message()) : wq::Status::Ok();
}

// The contents first: a crash in between leaves the older revision, and the key is reconciled
// again.
wq::Status Target::Apply(const std::string& key, const std::optional<std::string>& value,
                         int64_t revision) {
  const std::string name = NameOf(key);
  const std::string noted = dir_ + "/" + kRevisions + "/" + name;
  const FileLock lock(dir_ + "/" + kRevisions + "/lock");
  if (!lock.locked()) return Failed("locking", dir_);
  int64_t applied = 0;
  std::ifstream(noted) >> applied;
  if (applied > revision) return {};
  const std::string path = dir_ + "/" + name;
  wq::Status status;
  if (value.has_value()) {
    status = Replace(path, *value);
  } else if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    status = Failed("removing", path);
  }
  return status.ok() ? Replace(noted, std::to_string(revision)) : status;
}

wq::Status Target::Keys(std::vector<std::string>* keys) const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir_, error)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && !name.ends_with(".new")) keys->push_back(KeyOf(name));
  }
  return error ? wq::Status::IOError("reading " + dir_ + ": " + error.message()) : wq::Status::Ok();
}

}  // namespace etcd_mirror
