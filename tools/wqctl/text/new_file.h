// NewFile: a file that appears complete or not at all.
//
//   NewFile file;
//   wq::Status s = file.Open("report.html");
//   if (s.ok()) s = file.Write(page);
//   if (s.ok()) s = file.Commit();   // Replaces a file of this name, and keeps its mode.
//
// Until Commit it has a temporary name in the same directory, ".wqctl-XXXXXX". The destructor
// removes that file; a crash may leave it. A pipe or a device is written to directly.
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

  // Each function returns IOError with the file's name and the reason. Open follows links.
  // REQUIRES: Open is called once.
  wq::Status Open(const std::string& path);
  wq::Status Write(std::string_view bytes);
  // Blocks: until the bytes are on the disk.
  wq::Status Commit();

 private:
  wq::Status Failed(int error) const;

  int fd_ = -1;
  std::string path_;
  std::string scratch_;  // The temporary name; empty: none.
};

}  // namespace wqctl
