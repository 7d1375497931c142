#include "wq/snapshot.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include "base/files.h"
#include "base/names.h"
#include "base/unfinished_directory.h"
#include "storage/open.h"
#include "storage/records.h"
#include "storage/store_copy.h"
#include "storage/store_directory.h"
#include "storage/verify_files.h"
#include "wq/clock.h"

namespace wq {
namespace {

constexpr const char* kCreating = "/.creating";
constexpr const char* kRestoring = ".restoring";

// "20261121T142317.123456Z".
std::string NameOfTime(int64_t wall_us) {
  const auto seconds = static_cast<std::time_t>(wall_us / 1'000'000);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const size_t n = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%S", &utc);
  const std::string fraction = std::to_string(wall_us % 1'000'000);
  return std::string(text.data(), n) + "." + std::string(6 - fraction.size(), '0') + fraction + "Z";
}

Status CheckSnapshotName(const std::string& name) {
  if (Status s = CheckName("snapshot", name); !s.ok()) return s;
  return name.front() == '.' ? Status::InvalidArgument("a snapshot's name begins with no dot")
                             : Status::Ok();
}

// Fills in the description of the snapshot at `path`; NotFound if there is none.
Status InspectSnapshot(const std::string& path, SnapshotInfo* info) {
  *info = SnapshotInfo();
  // A path that cannot be read, or is no directory, is not a snapshot of this user.
  struct stat mark = {};
  if (lstat((path + "/" + storage::kSnapshotFile).c_str(), &mark) != 0 &&
      (errno == ENOTDIR || errno == EACCES)) {
    return Status::NotFound(path + " is no snapshot");
  }
  Status s = storage::ReadSnapshotTime(path, &info->taken_at_us);
  if (!s.ok() && s.code() != StatusCode::kCorruption) return s;
  std::vector<std::string> names;
  if (s = ListDirectory(path, &names); !s.ok()) return s;
  info->path = path;
  info->name = path.substr(path.rfind('/') + 1);
  storage::DirectoryInfo found;
  s = storage::InspectDirectory(path, &found);
  if (s.ok()) info->uuid = found.format.uuid;
  if (s.code() == StatusCode::kIOError) return s;
  for (const std::string& name : names) {
    struct stat file = {};
    if (lstat((path + "/" + name).c_str(), &file) != 0) {
      return IOErrorOf("cannot inspect", path + "/" + name, errno);
    }
    const auto bytes = static_cast<uint64_t>(file.st_size);
    info->bytes += bytes;
    if (file.st_nlink > 1 && S_ISREG(file.st_mode)) info->linked_bytes += bytes;
  }
  return Status::Ok();
}

// Reads all bytes, and checks that RocksDB can open the files. An error names the file in `of`: the
// copy is removed.
Status VerifyCopy(const std::string& dir, const std::string& of, const ProgressCallback& progress) {
  storage::FilesReport report;
  if (Status s = storage::VerifyFiles(dir, progress, &report); !s.ok()) return s;
  if (report.findings.empty()) return Status::Ok();
  std::string what = report.findings.front().message();
  for (size_t at = what.find(dir); at != what.npos; at = what.find(dir, at + of.size())) {
    what.replace(at, dir.size(), of);
  }
  return Status::Corruption(what + " (found in a copy of it, which was not kept)");
}

// The latest snapshot of this store in `dir`: it may have the same tables.
std::string EarlierOf(const std::string& dir, const std::string& uuid) {
  std::vector<SnapshotInfo> all;
  if (!ListSnapshots(dir, &all).ok()) return {};
  std::string latest;
  for (const SnapshotInfo& snapshot : all) {
    if (snapshot.uuid == uuid) latest = snapshot.path;
  }
  return latest;
}

// NotSupported: the store has only some of the keys. Whatever else is wrong, its copy shows.
Status CheckComplete(const std::string& store) {
  std::unique_ptr<storage::Reader> reader;
  storage::ReplicationRecord replica;
  const bool is_replica =
      storage::OpenReader(store, &reader).ok() && storage::GetReplication(*reader, &replica).ok();
  return is_replica && !replica.seeded
             ? Status::NotSupported(store + " is a replica that is not complete yet")
             : Status::Ok();
}

// Ok if a store may be restored to `into`.
Status CheckFree(const std::string& into) {
  struct stat info = {};
  struct stat parent = {};
  if (lstat(into.c_str(), &info) != 0) {
    return errno == ENOENT ? Status::Ok() : IOErrorOf("cannot inspect", into, errno);
  }
  std::vector<std::string> names;
  if (!S_ISDIR(info.st_mode)) return Status::AlreadyExists("there is " + into + " already");
  if (lstat((into + "/..").c_str(), &parent) == 0 && parent.st_dev != info.st_dev) {
    return Status::InvalidArgument(into +
                                   " is a mount point, which a store that is complete cannot "
                                   "take the place of: name a directory below it");
  }
  if (Status s = ListDirectory(into, &names); !s.ok()) return s;
  return names.empty() ? Status::Ok()
                       : Status::AlreadyExists(into + " is not empty: it holds " + names.front());
}

// REQUIRES: no path has a slash at its end.
Status Create(const std::string& store, const std::string& dir, const SnapshotOptions& options,
              SnapshotInfo* info) {
  storage::DirectoryInfo found;
  if (Status s = storage::InspectDirectory(store, &found); !s.ok()) {
    return storage::Refused(store, s);
  }
  if (!found.IsWholeStore()) return storage::NotAStore(store, found);
  if (Status s = CheckComplete(store); !s.ok()) return s;
  const int64_t now_us = Clock::System()->WallUs();
  const std::string path = dir + "/" + (options.name.empty() ? NameOfTime(now_us) : options.name);
  // Above the snapshot, so `dir` is not the store itself either.
  if (Status s = storage::CheckOutsideStores(path); !s.ok()) return s;
  if (Status s = storage::MakeDirectory(dir); !s.ok()) return s;
  std::unique_ptr<UnfinishedDirectory> unfinished;
  if (Status s = UnfinishedDirectory::Make(dir + kCreating, &unfinished); !s.ok()) return s;
  struct stat there = {};
  if (lstat(path.c_str(), &there) == 0)
    return Status::AlreadyExists("there is " + path + " already");
  storage::StoreCopyReport report;
  Status s = storage::CopyStore(store, unfinished->path(),
                                {.link_tables = options.link_tables,
                                 .earlier = EarlierOf(dir, found.format.uuid),
                                 .cancelled = options.cancelled,
                                 .progress = options.progress},
                                &report);
  if (s.ok()) s = storage::WriteSnapshotTime(unfinished->path(), now_us);
  if (s.ok()) s = VerifyCopy(unfinished->path(), store, options.progress);
  SnapshotInfo made;
  if (s.ok()) s = InspectSnapshot(unfinished->path(), &made);
  if (s.ok()) s = unfinished->RenameTo(path);
  if (!s.ok()) return storage::Refused(store, s);
  made.path = path;
  made.name = path.substr(dir.size() + 1);
  *info = std::move(made);
  return s;
}

// REQUIRES: no path has a slash at its end.
Status Restore(const SnapshotInfo& from, const std::string& into, const RestoreOptions& options) {
  if (Status s = CheckFree(into); !s.ok()) return s;
  if (Status s = CheckComplete(from.path); !s.ok()) return s;
  if (Status s = storage::CheckOutsideStores(into); !s.ok()) return s;
  std::unique_ptr<UnfinishedDirectory> unfinished;
  if (Status s = UnfinishedDirectory::Make(into + kRestoring, &unfinished); !s.ok()) return s;
  storage::StoreCopyReport report;
  Status s = storage::CopyStore(
      from.path, unfinished->path(),
      {.link_tables = false, .cancelled = options.cancelled, .progress = options.progress},
      &report);
  // Before RenewStore changes the files: damage is named as it is in the snapshot.
  if (s.ok()) s = VerifyCopy(unfinished->path(), from.path, options.progress);
  // Gives the store a uuid of its own. Also replays the log, which checks it.
  if (s.ok()) s = storage::RenewStore(unfinished->path(), Clock::System()->WallUs());
  if (s.ok()) s = VerifyCopy(unfinished->path(), from.path, options.progress);
  return s.ok() ? unfinished->RenameTo(into) : storage::Refused(from.path, s);
}

}  // namespace

Status CreateSnapshot(const std::string& store, const std::string& dir,
                      const SnapshotOptions& options, SnapshotInfo* info) {
  *info = SnapshotInfo();
  if (!options.name.empty()) {
    if (Status s = CheckSnapshotName(options.name); !s.ok()) return s;
  }
  if (dir.empty()) return Status::InvalidArgument("the name of the directory is empty");
  return Create(storage::WithoutTrailingSlashes(store), storage::WithoutTrailingSlashes(dir),
                options, info);
}

Status ListSnapshots(const std::string& given_dir, std::vector<SnapshotInfo>* snapshots) {
  snapshots->clear();
  const std::string dir = storage::WithoutTrailingSlashes(given_dir);
  SnapshotInfo one;
  if (Status s = InspectSnapshot(dir, &one); s.code() != StatusCode::kNotFound) {
    if (s.ok()) snapshots->push_back(std::move(one));
    return s;
  }
  struct stat info = {};
  if (stat(dir.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return Status::NotFound("there is no directory " + dir);
  }
  std::vector<std::string> names;
  if (Status s = ListDirectory(dir, &names); !s.ok()) return s;
  for (const std::string& name : names) {
    if (name.starts_with('.')) continue;  // Not finished.
    // An error: the unreadable snapshot may be the latest, and an older one must not replace it.
    Status s = InspectSnapshot(dir + "/" + name, &one);
    if (s.ok()) snapshots->push_back(std::move(one));
    if (!s.ok() && s.code() != StatusCode::kNotFound) return s;
  }
  std::stable_sort(
      snapshots->begin(), snapshots->end(),
      [](const SnapshotInfo& a, const SnapshotInfo& b) { return a.taken_at_us < b.taken_at_us; });
  return snapshots->empty() ? Status::NotFound("there is no snapshot in " + dir) : Status::Ok();
}

Status RestoreSnapshot(const std::string& snapshot, const std::string& into,
                       const RestoreOptions& options, SnapshotInfo* from) {
  *from = SnapshotInfo();
  if (into.empty()) return Status::InvalidArgument("the name of the directory is empty");
  std::vector<SnapshotInfo> all;
  if (Status s = ListSnapshots(snapshot, &all); !s.ok()) return s;
  *from = all.back();
  return Restore(*from, storage::WithoutTrailingSlashes(into), options);
}

}  // namespace wq
