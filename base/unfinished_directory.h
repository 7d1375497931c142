// UnfinishedDirectory: where something is made that shall be there whole or not at all. Internal to
// storage/ and engine/.
//
//   std::unique_ptr<UnfinishedDirectory> unfinished;
//   Status s = UnfinishedDirectory::Make("/backup/pods/.new", &unfinished);
//   …                                          // Fills unfinished->path().
//   if (s.ok()) s = unfinished->RenameTo("/backup/pods/monday");
//
// Thread-compatible. Lifetime: what has not got its name is removed with the object. A crash leaves
// it; the next Make of the same path removes it, since nobody holds its lock (flock on the directory).
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "wq/status.h"

namespace wq {

class UnfinishedDirectory {
 public:
  // A new, empty directory of mode 0700. Locked: another process, or object, is at work there. IOError,
  // also if something is there that is not a directory.
  static Status Make(const std::string& path, std::unique_ptr<UnfinishedDirectory>* unfinished);
  ~UnfinishedDirectory();
  UnfinishedDirectory(const UnfinishedDirectory&) = delete;
  UnfinishedDirectory& operator=(const UnfinishedDirectory&) = delete;

  const std::string& path() const { return path_; }

  // Gives it its name, durably, or not at all. In the same file system. AlreadyExists: there is something
  // else than an empty directory.
  Status RenameTo(const std::string& name);

 private:
  UnfinishedDirectory(std::string path, FileDescriptor lock);
  const std::string path_;
  const FileDescriptor lock_;  // The directory, flocked.
  bool named_ = false;
};

}  // namespace wq
