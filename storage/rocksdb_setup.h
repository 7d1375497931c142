// What the owner's and the reader's side of RocksDB have in common. Internal to storage/.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "storage/manifest.h"
#include "storage/records.h"
#include "storage/rocksdb_storage.h"
#include "storage/storage.h"
#include "storage/store_directory.h"
#include "storage/wal_check.h"
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
  mutable std::mutex mu_;
  Status error_;  // Under mu_.
};

rocksdb::DBOptions DatabaseOptions(const RocksdbOptions& options,
                                   std::shared_ptr<BackgroundError> error);
rocksdb::ColumnFamilyOptions FamilyOptions(const RocksdbOptions& options);
std::shared_ptr<rocksdb::Logger> SilentLogger();

rocksdb::Slice ToSlice(std::string_view bytes);

// Our word for RocksDB's outcome; `where` says what was done, to which directory.
Status FromRocksdb(const rocksdb::Status& status, const std::string& where);
// The same for opening a store that should be whole: a missing file is damage.
Status FromRocksdbOpen(const rocksdb::Status& status, const std::string& dir);

// Whether the database has exactly the families of this format. Corruption: one is missing;
// NotSupported: there is one that this version does not know.
Status CheckFamilies(const std::string& dir, const Manifest& manifest);

// All that is looked at before RocksDB opens a database, the blocks of its tables apart: that the
// manifest is whole, has the families, and that the tables and logs that it names are there.
// Changes nothing. Corruption names the file. `ends`: of the logs that RocksDB must not see the end of.
Status CheckDatabase(const std::string& dir, Manifest* manifest, LogEnds* ends);

// Whether RocksDB opens the database, logs apart. Changes nothing.
Status CheckOpens(const std::string& dir, const Manifest& manifest);

// The reader without the look at FORMAT.
Status OpenDatabaseReader(const std::string& dir, std::unique_ptr<Reader>* reader);

// For a directory in state kUnfinished: Corruption if FORMAT was lost, that is, if the database
// holds queues; Ok if the creation was not finished. Changes nothing.
Status CheckUnfinished(const std::string& dir, const DirectoryLook& look);

// Corruption if the store's own record is not what FORMAT says. `found`: the outcome of reading it.
Status CheckStoreRecord(const std::string& dir, const Status& found, const StoreRecord& record,
                        const Format& format);

}  // namespace wq::storage
