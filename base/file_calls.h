// FileCalls: the system calls with which this library itself changes files (FORMAT, OWNER, directories).
//
// Tests replace them by a disk that fails, or that forgets what was not synced. What RocksDB does with
// files goes through its Env instead: see storage/rocksdb/env.h.
// Threading: UseFileCalls before and after the stores that it concerns, not beside them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace wq {

// The calls that change something, each as the system call of its name: -1 and errno for failure.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int Open(const std::string& path, int flags);  // Mode 0600.
  virtual ssize_t Write(int fd, const std::string& path, std::string_view bytes);
  virtual int Sync(int fd, const std::string& path);  // Of a directory, too.
  virtual int Rename(const std::string& from, const std::string& to);
  virtual int MakeDirectory(const std::string& path);  // Mode 0700.
};

// For stores that are opened from now on. Borrowed; null: the machine's own.
void UseFileCalls(FileCalls* calls);

FileCalls& CurrentFileCalls();

}  // namespace wq
