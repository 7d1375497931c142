// NewFile: a file that is there as a whole or not at all.
//
//   NewFile file;
//   wq::Status s = file.Open("report.html");
//   if (s.ok()) s = file.Write(page);
//   if (s.ok()) s = file.Commit();   // Replaces one that has this name, and keeps its mode.
//
// Until Commit it has a name of its own beside that, ".wqctl-XXXXXX"; the destructor removes it. A
// crash may leave that one. What is no regular file (a pipe, a device) is written to as it is.
// Thread-compatible.
#pragma once

#include <string>
#include <string_view>

#include "wq/status.h"

namespace wqctl {

class NewFile {
 public:
  NewFile() = default;
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // All of them: IOError with the file's name and why. Of a link its target is meant. REQUIRES:
  // once.
  wq::Status Open(const std::string& path);
  wq::Status Write(std::string_view bytes);
  // Blocks: until the bytes are on the disk.
  wq::Status Commit();

 private:
  wq::Status Failed(int error) const;

  int fd_ = -1;
  std::string path_;
  std::string scratch_;  // The name until Commit; empty: there is none.
};

}  // namespace wqctl
