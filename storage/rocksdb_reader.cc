#include <rocksdb/db.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "storage/check.h"
#include "storage/files.h"
#include "storage/rocksdb_setup.h"
#include "storage/rocksdb_storage.h"
#include "storage/store_directory.h"
#include "storage/wal_check.h"

namespace wq::storage {
namespace {

// A private directory that goes away with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() = default;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  Status Make() {
    const char* const base = std::getenv("TMPDIR");
    std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/wq-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return IOErrorOf("cannot make", path, errno);
    path_ = std::move(path);
    return Status::Ok();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What the manifest was at one moment. Every flush of the owner adds to it, before it removes the
// log that held what was flushed.
struct ManifestMark {
  std::string current;  // The contents of CURRENT: the manifest's name.
  off_t bytes = -1;

  static ManifestMark Of(const std::string& dir) {
    ManifestMark mark;
    struct stat info;
    if (ReadSmallFile(dir + "/CURRENT", 256, &mark.current).ok() &&
        stat((dir + "/" + mark.current.substr(0, mark.current.find('\n'))).c_str(), &info) == 0) {
      mark.bytes = info.st_size;
    }
    return mark;
  }
  bool operator==(const ManifestMark&) const = default;
};

class RocksdbReader final : public Reader {
 public:
  explicit RocksdbReader(std::string dir) : dir_(std::move(dir)) {}
  ~RocksdbReader() override { DropDatabase(); }

  Status Open();
  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;

 private:
  // Making an iterator sorts the whole memtable, so they are kept for the next call.
  using Iterators = std::vector<std::unique_ptr<rocksdb::Iterator>>;
  class Borrowed;

  rocksdb::Status OpenOnce();
  void DropDatabase();

  const std::string dir_;
  TemporaryDirectory scratch_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // By Family. Owned; before db_ is.
  mutable std::mutex mu_;
  mutable std::array<Iterators, kFamilyCount> idle_;  // Under mu_.
};

// An iterator for the length of one call.
class RocksdbReader::Borrowed {
 public:
  Borrowed(const RocksdbReader& reader, Family family)
      : reader_(reader), family_(static_cast<size_t>(family)) {
    const std::lock_guard lock(reader_.mu_);
    Iterators& idle = reader_.idle_[family_];
    if (idle.empty()) {
      it_.reset(reader_.db_->NewIterator(rocksdb::ReadOptions(), reader_.families_[family_]));
    } else {
      it_ = std::move(idle.back());
      idle.pop_back();
    }
  }
  ~Borrowed() {
    const std::lock_guard lock(reader_.mu_);
    reader_.idle_[family_].push_back(std::move(it_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  rocksdb::Iterator* operator->() const { return it_.get(); }

 private:
  const RocksdbReader& reader_;
  const size_t family_;
  std::unique_ptr<rocksdb::Iterator> it_;
};

// A running owner works on: it may flush and remove a log after RocksDB here has read the manifest
// and before it reads the logs, and the view would lack what that log held. So the view counts only
// if the manifest did not change while it was made.
Status RocksdbReader::Open() {
  Status status = scratch_.Make();
  if (!status.ok()) return status;
  constexpr int kAttempts = 50;
  for (int attempt = 1;; ++attempt) {
    const ManifestMark before = ManifestMark::Of(dir_);
    status = CheckWals(dir_);
    if (!status.ok()) return status;
    const rocksdb::Status opened = OpenOnce();
    const bool unchanged = ManifestMark::Of(dir_) == before;
    if (unchanged && opened.ok()) return Status::Ok();
    DropDatabase();
    if (unchanged) return FromRocksdbOpen(opened, dir_);
    if (attempt == kAttempts) {
      return Status::IOError(dir_ + ": its owner is too busy for a steady view; try again");
    }
  }
}

rocksdb::Status RocksdbReader::OpenOnce() {
  RocksdbOptions defaults;
  rocksdb::DBOptions db_options = DatabaseOptions(defaults, std::make_shared<BackgroundError>());
  db_options.info_log = SilentLogger();
  // The owner may remove a table file at any time: the ones of this view stay open.
  db_options.max_open_files = -1;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) descriptors.emplace_back(name, FamilyOptions(defaults));
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::OpenAsSecondary(db_options, dir_, scratch_.path(), descriptors, &families_, &db);
  if (status.ok()) db_.reset(db);
  return status;
}

void RocksdbReader::DropDatabase() {
  if (db_ == nullptr) return;
  for (Iterators& idle : idle_) idle.clear();
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  families_.clear();
  db_.reset();
}

Status RocksdbReader::Get(Family family, std::string_view key, std::string* value) const {
  const Borrowed it(*this, family);
  it->Seek(ToSlice(key));
  if (it->Valid() && it->key() == ToSlice(key)) {
    *value = it->value().ToStringView();
    return Status::Ok();
  }
  if (!it->status().ok()) return FromRocksdb(it->status(), dir_);
  return Status::NotFound("no such record");
}

Status RocksdbReader::Scan(Family family, std::string_view begin, std::string_view end,
                           const Visitor& visit) const {
  const Borrowed it(*this, family);
  for (it->Seek(ToSlice(begin)); it->Valid(); it->Next()) {
    const std::string_view key = it->key().ToStringView();
    if (!end.empty() && key >= end) return Status::Ok();
    if (!visit(key, it->value().ToStringView())) return Status::Ok();
  }
  return FromRocksdb(it->status(), dir_);
}

}  // namespace

Status OpenSecondary(const std::string& dir, std::unique_ptr<Reader>* reader) {
  auto opened = std::make_unique<RocksdbReader>(dir);
  Status status = opened->Open();
  if (status.ok()) *reader = std::move(opened);
  return status;
}

Status OpenRocksdbReader(const std::string& path, std::unique_ptr<Reader>* reader) {
  const std::string dir = WithoutTrailingSlashes(path);
  DirectoryLook look;
  Status status = LookAtDirectory(dir, &look);
  if (!status.ok()) return status;
  if (look.state != DirectoryState::kStore) {
    if (look.state == DirectoryState::kUnfinished) status = CheckUnfinished(dir, look);
    return status.ok() ? NotAStore(dir, look) : status;
  }
  status = CheckFamilies(dir);
  std::unique_ptr<Reader> opened;
  if (status.ok()) status = OpenSecondary(dir, &opened);
  if (status.ok()) status = CheckStoreRecord(dir, *opened, look.format);
  if (status.ok()) *reader = std::move(opened);
  return status;
}

}  // namespace wq::storage
