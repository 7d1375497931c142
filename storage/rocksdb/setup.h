// What the owner's and the reader's side of RocksDB have in common. Internal to storage/.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "storage/open.h"
#include "wq/status.h"

namespace rocksdb {
class EventListener;
class Logger;
class Slice;
class Status;
struct ColumnFamilyOptions;
struct DBOptions;
}  // namespace rocksdb

namespace wq::storage {

// How tables are written, whatever RocksDB's defaults become: on disk, so never change it without a
// new format version.
inline constexpr uint32_t kTableVersion = 5;
inline constexpr unsigned char kTableChecksum = 4;  // XXH3.

// The first background error of a database. Thread-safe.
class BackgroundError {
 public:
  void Report(Status error);
  Status Get() const;  // Ok while there is none. Cheap then.

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

// Our word for RocksDB's outcome; `where` says what was done, to which directory.
Status FromRocksdb(const rocksdb::Status& status, const std::string& where);
// The same for opening a store that should be whole: a missing file is damage.
Status FromRocksdbOpen(const rocksdb::Status& status, const std::string& dir);

}  // namespace wq::storage
