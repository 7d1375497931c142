// RocksDB's options, and conversions of its types, for the owner, the reader and the checks.
// Internal to storage/.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "storage/open.h"
#include "wq/status.h"

namespace rocksdb {
class Env;
class EventListener;
class Logger;
class Slice;
class Status;
struct ColumnFamilyOptions;
struct DBOptions;
}  // namespace rocksdb

namespace wq::storage {

// The format of tables, independent of RocksDB's defaults. It is on disk: a change needs a new
// format version.
inline constexpr uint32_t kTableVersion = 5;
inline constexpr unsigned char kTableChecksum = 4;  // XXH3.

// The Env through which RocksDB accesses files: the default, or in tests one that fails, or loses
// what was not synced. The library's own file calls go through base/file_calls.h. Borrowed; null:
// the default. Call it only while no store is open.
void UseEnv(rocksdb::Env* env);

// The first background error of a database. Thread-safe.
class BackgroundError {
 public:
  void Report(Status error);
  Status Get() const;  // Ok, and cheap, while there is no error.

 private:
  std::atomic<bool> failed_{false};
  mutable Mutex mu_;
  Status error_ WQ_GUARDED_BY(mu_);
};

rocksdb::DBOptions DatabaseOptions(const OpenOptions& options,
                                   std::shared_ptr<BackgroundError> error);
rocksdb::ColumnFamilyOptions FamilyOptions(const OpenOptions& options);
std::shared_ptr<rocksdb::Logger> SilentLogger();

rocksdb::Slice ToSlice(std::string_view bytes);

// RocksDB's words for an error, without the name of its code, without `where` and with nothing
// twice. REQUIRES: !status.ok().
std::string TextOf(const rocksdb::Status& status, const std::string& where);

// Converts RocksDB's outcome. `where` begins the message: a file or a directory, or what was done
// there.
Status FromRocksdb(const rocksdb::Status& status, const std::string& where);
// The same for opening a store, or a file of it: a missing file is Corruption. `file`: which file
// in the directory `where` says what was opened; empty: it is not known.
Status FromRocksdbOpen(const rocksdb::Status& status, const std::string& where,
                       const std::string& file = "");

}  // namespace wq::storage
