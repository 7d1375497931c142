// What lies under stores: the machine's files, or in tests a disk that fails, or forgets what was not
// synced. Internal to storage/ and its tests.
//
// Two doors lead to a disk: RocksDB goes through its Env, and what storage does with files itself
// (FORMAT, OWNER, the directory) through FileCalls. UseDisk changes both, for stores that are opened
// from then on. Threading: UseDisk before and after the stores that it concerns, not beside them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

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

// Both are borrowed; null is the machine's.
struct Disk {
  rocksdb::Env* env = nullptr;
  FileCalls* calls = nullptr;
};
void UseDisk(const Disk& disk);

rocksdb::Env* DiskEnv();  // Null: RocksDB's default.
FileCalls& DiskCalls();

}  // namespace wq::storage
