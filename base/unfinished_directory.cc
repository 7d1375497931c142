#include "base/unfinished_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_calls.h"

namespace wq {
namespace {

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Whether the directory that is open is the one that has this name now.
bool IsStillAt(int fd, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(fd, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Nothing that a link in it leads to is touched.
Status RemoveContents(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code failed;
    std::filesystem::remove_all(entry->path(), failed);
    if (failed) return IOErrorOf("cannot remove", entry->path().string(), failed.value());
  }
  return error ? IOErrorOf("cannot list", path, error.value()) : Status::Ok();
}

}  // namespace

UnfinishedDirectory::UnfinishedDirectory(std::string path, FileDescriptor lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

UnfinishedDirectory::~UnfinishedDirectory() {
  std::error_code ignored;
  if (!named_) std::filesystem::remove_all(path_, ignored);
}

Status UnfinishedDirectory::Make(const std::string& path,
                                 std::unique_ptr<UnfinishedDirectory>* unfinished) {
  constexpr int kAttempts = 10;  // Others may finish theirs meanwhile.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (CurrentFileCalls().MakeDirectory(path) != 0 && errno != EEXIST) {
      return IOErrorOf("cannot make", path, errno);
    }
    FileDescriptor lock(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!lock.valid() && errno == ENOENT) continue;
    if (!lock.valid()) return IOErrorOf("cannot open", path, errno);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return Status::Locked("another process is at work in " + path);
      return IOErrorOf("cannot lock", path, errno);
    }
    if (!IsStillAt(lock.get(), path)) continue;
    Status status = RemoveContents(path);
    if (status.ok()) unfinished->reset(new UnfinishedDirectory(path, std::move(lock)));
    return status;
  }
  return Status::Locked("other processes are at work in " + path);
}

Status UnfinishedDirectory::RenameTo(const std::string& name) {
  Status status = SyncDirectory(path_);
  if (!status.ok()) return status;
  if (CurrentFileCalls().Rename(path_, name) != 0) {
    const bool taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
    return taken ? Status::AlreadyExists("there is " + name + " already")
                 : IOErrorOf("cannot rename to", name, errno);
  }
  status = SyncDirectory(ParentOf(name));
  // What may not survive a power cut is not made: the name is taken back, so that it may be tried again.
  named_ = status.ok() || CurrentFileCalls().Rename(name, path_) != 0;
  return status;
}

}  // namespace wq
