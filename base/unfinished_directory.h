// UnfinishedDirectory: a directory that appears under its name complete or not at all. Internal to
// storage/ and engine/.
//
//   std::unique_ptr<UnfinishedDirectory> unfinished;
//   Status s = UnfinishedDirectory::Make("/backup/pods/.new", &unfinished);
//   …                                          // Fills unfinished->path().
//   if (s.ok()) s = unfinished->RenameTo("/backup/pods/monday");
//
// Thread-compatible. Lifetime: unless RenameTo succeeded, the destructor removes the directory. A
// crash leaves it, unlocked (the lock is flock(2) on the directory), and the next Make of the same
// path removes its contents. A file in it, kUnfinishedFile, says that it may be removed, and that
// it is not to be used: it is the first that is made and the last that is removed.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "wq/status.h"

namespace wq {

inline constexpr const char* kUnfinishedFile = "UNFINISHED";

class UnfinishedDirectory {
 public:
  // Makes a directory of mode 0700, which has no file but kUnfinishedFile. Locked: another process,
  // or object, uses it. AlreadyExists: it has files, and no Make has made it. IOError: also if the
  // path is not a directory.
  static Status Make(const std::string& path, std::unique_ptr<UnfinishedDirectory>* unfinished);
  ~UnfinishedDirectory();
  UnfinishedDirectory(const UnfinishedDirectory&) = delete;
  UnfinishedDirectory& operator=(const UnfinishedDirectory&) = delete;

  const std::string& path() const { return path_; }

  // Renames it to `name`, in the same file system, durably or not at all. AlreadyExists: `name`
  // exists and is not an empty directory.
  Status RenameTo(const std::string& name);

 private:
  UnfinishedDirectory(std::string path, FileDescriptor lock);
  const std::string path_;
  const FileDescriptor lock_;  // The directory, flocked.
  bool named_ = false;
};

}  // namespace wq
