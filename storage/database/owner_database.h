// The owner's database: a store's directory on RocksDB, written by one process. Internal to
// storage/.
//
//   OwnerDatabase database(dir, options);
//   Status s = database.Open(found, std::move(owner));  // Both from OwnDirectory.
//
// A store is checked before RocksDB opens it (storage/check/open_check.h). After the first failed
// write nothing is written until Reopen: see StopWrites. Threading: as Storage. A crash leaves the
// state after the last completed Write, or of the one in progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/rocksdb/setup.h"
#include "storage/rocksdb/store_env.h"
#include "storage/storage.h"
#include "storage/store_directory.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class Env;
}  // namespace rocksdb

namespace wq::storage {

class OpeningEnv;
struct StoreRecord;

class OwnerDatabase final : public Storage {
 public:
  // REQUIRES: `dir` has no slash at its end.
  OwnerDatabase(std::string dir, const OpenOptions& options);
  // Without Close: writes nothing more, as if the process had ended.
  ~OwnerDatabase() override;

  // Opens the store that was found, or creates it. Keeps `owner` until Close or destruction.
  Status Open(const DirectoryInfo& found, std::unique_ptr<OwnerLock> owner);

  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  Status Write(MutationBatch& batch, bool sync) override;
  Status Sync() override;
  Status ScanUnsynced(Family family, const Visitor& visit) const override;
  Status Reopen() override;
  std::unique_ptr<Reader> Snapshot() const override;
  Status Close() override;
  ProcessLog* process_log() override { return log_.get(); }
  Status ProcessLogStatus() const override { return log_status_; }

  // Replaces the store's own record. REQUIRES: Close is the next call.
  Status Renew(const StoreRecord& record);

 private:
  // What the directory contains: nothing, the remains of an unfinished creation, or a store.
  enum class Found : uint8_t { kNothing, kUnfinished, kStore };
  Status OpenDatabase(Found found, ValidLengths valid_lengths);
  void AbandonOpening();
  Status CheckAndOpen();
  // Writes to the database what the process log of the last owner has and the database lacks. Then
  // makes a new log, unless the options or the file system do not allow one.
  Status BeginLog(const Format& found);
  // Of a replica: *unwritten becomes the record of what it was, to be kept aside.
  Status KeepAhead(MutationBatch* unwritten) const;
  Status AppendRemoved(MutationBatch* batch) const;
  // Notes that the database has all of the log.
  Status EndLog();
  // Removes the files of logs other than the present one. A failure leaves files of no use.
  void RemoveOldLogs() const;
  // Ok if the store may be written.
  Status CheckWritable();
  // Records the first failure, after which CheckWritable fails; returns it.
  Status StopWrites(Status status);
  rocksdb::Status FlushFullFamilies();
  Status CloseDatabase();
  void DropHandles();

  rocksdb::ColumnFamilyHandle* Handle(Family family) const {
    return families_[static_cast<size_t>(family)];
  }

  const std::string dir_;
  const OpenOptions options_;
  std::string uuid_;                                    // Of the store; constant after Open.
  Status ownership_lost_;                               // Not Ok: permanently lost.
  std::shared_ptr<BackgroundError> background_;         // Of db_.
  std::unique_ptr<OwnerLock> owner_;                    // Before db_: dropped after it.
  std::unique_ptr<rocksdb::Env> env_;                   // Before opening_env_.
  std::unique_ptr<OpeningEnv> opening_env_;             // Before db_.
  std::unique_ptr<rocksdb::DB> db_;                     // Null before Open and after Close.
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // By Family. Destroyed before db_.
  std::unique_ptr<ProcessLog> log_;                     // Null: none.
  Status log_status_;                                   // Why log_ is null.
  size_t unchecked_bytes_ = 0;                          // Written since the last FlushFullFamilies.

  Mutex mu_;
  Status failure_ WQ_GUARDED_BY(mu_);  // The first failed write, or why Reopen failed.
  std::atomic<bool> failed_{false};    // failure_ is not Ok.
};

}  // namespace wq::storage
