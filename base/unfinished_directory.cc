#include "base/unfinished_directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_calls.h"

namespace wq {
namespace {

// Does not follow links.
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
  constexpr int kAttempts = 10;  // Another process may rename its directory after the open.
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
  // A name that may not survive a power cut is removed again, so that the caller may retry.
  named_ = status.ok() || CurrentFileCalls().Rename(name, path_) != 0;
  return status;
}

}  // namespace wq
