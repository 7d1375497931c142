#include "base/unfinished_directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_calls.h"

namespace wq {
namespace {

// Removes all but kUnfinishedFile. Does not follow links.
Status RemoveContents(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename() == kUnfinishedFile) continue;
    std::error_code failed;
    std::filesystem::remove_all(entry->path(), failed);
    if (failed) return IOErrorOf("cannot remove", entry->path().string(), failed.value());
  }
  return error ? IOErrorOf("cannot list", path, error.value()) : Status::Ok();
}

// Ok if `path` is empty, or what a crash has left of an UnfinishedDirectory.
Status CheckRemovable(const std::string& path) {
  std::vector<std::string> names;
  Status status = ListDirectory(path, &names);
  if (!status.ok() || names.empty() ||
      std::binary_search(names.begin(), names.end(), kUnfinishedFile)) {
    return status;
  }
  return Status::AlreadyExists(path + " is in the way: it holds " + names.front() +
                               " and is not what an interrupted run has left; move it away, or " +
                               "remove it");
}

// A power cut must not keep another file of the directory and lose this one.
Status MakeMark(const std::string& path) {
  const std::string mark = path + "/" + kUnfinishedFile;
  const FileDescriptor file(
      CurrentFileCalls().Open(mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW));
  return file.valid() ? SyncDirectory(path) : IOErrorOf("cannot create", mark, errno);
}

}  // namespace

UnfinishedDirectory::UnfinishedDirectory(std::string path, FileDescriptor lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

UnfinishedDirectory::~UnfinishedDirectory() {
  std::error_code ignored;
  if (!named_ && RemoveContents(path_).ok()) std::filesystem::remove_all(path_, ignored);
  flock(lock_.get(), LOCK_UN);  // A forked child may have the directory open.
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
    Status status = CheckRemovable(path);
    if (!status.ok()) return status;
    status = RemoveContents(path);
    if (!status.ok()) return status;
    std::unique_ptr<UnfinishedDirectory> made(new UnfinishedDirectory(path, std::move(lock)));
    status = MakeMark(path);
    if (status.ok()) *unfinished = std::move(made);
    return status;
  }
  return Status::Locked("other processes are at work in " + path);
}

Status UnfinishedDirectory::RenameTo(const std::string& name) {
  const std::string mark = path_ + "/" + kUnfinishedFile;
  if (CurrentFileCalls().Remove(mark) != 0) return IOErrorOf("cannot remove", mark, errno);
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
