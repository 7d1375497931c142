// FileCalls: the system calls by which this library itself changes files (FORMAT, OWNER, the
// process log, directories).
//
// Tests replace them by a disk that fails, or that loses what was not synced. RocksDB's file calls
// go through its Env instead: see storage/rocksdb/setup.h. Threading: call UseFileCalls only while
// no store is open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace wq {

// Each function returns what its system call returns: on failure -1, with errno set.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int Open(const std::string& path, int flags);  // Mode 0600.
  virtual ssize_t Write(int fd, const std::string& path, std::string_view bytes);
  virtual int Sync(int fd, const std::string& path);  // `fd` may be a directory.
  virtual int Rename(const std::string& from, const std::string& to);
  virtual int Remove(const std::string& path);                            // A file.
  virtual int MakeDirectory(const std::string& path);                     // Mode 0700.
  virtual int Allocate(int fd, const std::string& path, uint64_t bytes);  // As posix_fallocate.
  // f_type of fstatfs, in *type.
  virtual int FileSystemType(int fd, const std::string& path, uint64_t* type);
  // As ioctl(2). `argument`: a number, or an address.
  virtual int Control(int fd, const std::string& path, unsigned long request, uintptr_t argument);
  // Maps the first `bytes` bytes, shared. nullptr on failure, with errno set.
  virtual void* Map(int fd, const std::string& path, uint64_t bytes);
  virtual void Unmap(void* mapping, uint64_t bytes);
};

// For stores that are opened from now on. Borrowed; null: the real system calls.
void UseFileCalls(FileCalls* calls);

FileCalls& CurrentFileCalls();

}  // namespace wq
