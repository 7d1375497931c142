#include "storage/store_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_calls.h"
#include "base/files.h"
#include "base/step_progress.h"
#include "storage/check/manifest.h"
#include "storage/check/wal_check.h"
#include "storage/directory/steady_view.h"
#include "storage/process_log/read_process_log.h"
#include "storage/store_directory.h"

namespace wq::storage {
namespace {

constexpr size_t kCopyChunk = size_t{1} << 20;

// A file as it was at the instant of the copy: open, and its length then.
struct HeldFile {
  std::string name;
  FileDescriptor fd{-1};
  uint64_t bytes = 0;
  std::array<timespec, 2> times = {};
  bool is_table = false;
  bool linked = false;  // The copy has a link to it already.
};

// Fills `chunk`; false if the file is shorter, or cannot be read.
bool ReadWhole(int fd, const std::string& path, uint64_t offset, std::string* chunk) {
  size_t got = 0;
  return ReadAt(fd, path, offset, chunk->size(), chunk->data(), &got).ok() && got == chunk->size();
}

// Notes the present length.
Status TakeLength(const std::string& dir, HeldFile* file) {
  const std::string path = dir + "/" + file->name;
  struct stat info = {};
  if (fstat(file->fd.get(), &info) != 0) return IOErrorOf("cannot look at", path, errno);
  if (!S_ISREG(info.st_mode)) return Status::Corruption(path + " is not a regular file");
  file->bytes = static_cast<uint64_t>(info.st_size);
  file->times = {info.st_atim, info.st_mtim};
  return Status::Ok();
}

// Whether the file system cannot make this link, but a copy may succeed.
bool NeedsCopy(int error) {
  return error == EXDEV || error == EPERM || error == EMLINK || error == EOPNOTSUPP ||
         error == ENOSYS;
}

class StoreCopy {
 public:
  StoreCopy(const std::string& dir, const std::string& into, const StoreCopyOptions& options,
            StoreCopyReport* report)
      : dir_(dir), into_(into), options_(options), report_(report) {}

  Status Run();

 private:
  Status HoldFiles();
  Status HoldAll(bool* complete);
  Status HoldLogs();
  Status HoldTables(const Manifest& manifest);
  Status HoldTable(const std::string& name, HeldFile* file) const;
  Status HoldSmallFiles(const Manifest& manifest);
  Status Hold(const std::string& name, HeldFile* file) const;
  uint64_t HeldBytes() const;
  Status Copy(const HeldFile& file, StepProgress* step);
  Status WriteProcessLogs() const;
  Status CopyHeld(const HeldFile& file, const std::string& to, StepProgress* step);
  bool LinkEarlier(const HeldFile& file);
  Status CheckCancelled() const {
    return options_.cancelled != nullptr && options_.cancelled()
               ? Status::IOError("the copying of " + dir_ + " was cancelled")
               : Status::Ok();
  }

  const std::string& dir_;
  const std::string& into_;
  const StoreCopyOptions& options_;
  StoreCopyReport* const report_;
  Format format_;
  std::map<uint64_t, HeldFile> tables_;  // By number, as logs_.
  std::map<uint64_t, HeldFile> logs_;
  std::vector<HeldFile> small_;  // The manifest, CURRENT, IDENTITY and OWNER.
  FoundProcessLogs process_logs_;
};

Status StoreCopy::Run() {
  *report_ = StoreCopyReport();
  Status status = HoldFiles();
  if (!status.ok()) return status;
  StepProgress step(options_.progress, {.step = "copying files", .total = HeldBytes()});
  for (auto table = tables_.begin(); table != tables_.end() && status.ok(); ++table) {
    status = Copy(table->second, &step);
  }
  for (auto log = logs_.begin(); log != logs_.end() && status.ok(); ++log) {
    status = Copy(log->second, &step);
  }
  for (auto file = small_.begin(); file != small_.end() && status.ok(); ++file) {
    status = Copy(*file, &step);
  }
  step.Finish();
  if (status.ok()) status = WriteProcessLogs();
  if (status.ok()) status = SyncDirectory(into_);
  return status.ok() ? WriteFormat(into_, format_) : status;
}

// An attempt succeeds whatever the owner changed during it, as long as every file of that instant
// could still be opened. An error counts only if the owner changed nothing. Files stay held for the
// next attempt: each attempt has less to read and to open, so one succeeds although the owner keeps
// changing files.
Status StoreCopy::HoldFiles() {
  DirectoryInfo found;
  Status status = InspectDirectory(dir_, &found);
  if (status.ok() && !found.IsWholeStore()) status = NotAStore(dir_, found);
  if (!status.ok()) return status;
  format_ = found.format;
  bool complete = false;
  return ReadSteadily(
      dir_, [&] { return HoldAll(&complete); },
      [&](const Status& held, const FilesState& before, const FilesState& after) {
        return held.ok() ? complete : after.HasAllLogsOf(before) && after.SameManifest(before);
      });
}

// The manifest says which files belong together. Logs are held before and after it is read. So a
// log that it needs is missed only if it was made after the first pass and removed, because of a
// later change of the manifest, before the second. The process log is read before all of them: see
// process_log/read_process_log.h.
Status StoreCopy::HoldAll(bool* complete) {
  std::vector<uint64_t> listed;
  Status status = ListProcessLogs(dir_, &listed);
  if (status.ok()) status = process_logs_.Read(dir_);
  if (status.ok()) status = process_logs_.AllAreKnown();
  if (status.ok()) status = HoldLogs();
  const uint64_t newest = logs_.empty() ? 0 : logs_.rbegin()->first;
  Manifest manifest;
  if (status.ok()) status = ReadManifest(dir_, &manifest);
  if (status.ok()) status = HoldTables(manifest);
  if (status.ok()) status = HoldLogs();
  if (status.ok()) status = HoldSmallFiles(manifest);
  if (!status.ok()) return status;
  const uint64_t needed = manifest.FirstLog();
  logs_.erase(logs_.begin(), logs_.lower_bound(needed));
  Manifest later;
  status = ReadManifest(dir_, &later);
  const uint64_t needed_now = later.FirstLog();
  // A new owner has removed the process log, and begun another.
  std::vector<uint64_t> process_logs;
  if (status.ok()) status = ListProcessLogs(dir_, &process_logs);
  *complete = later.number == manifest.number && (needed_now == needed || needed_now <= newest) &&
              process_logs == listed;
  return status;
}

// As files of which all was synced, unless they may lack records already.
Status StoreCopy::WriteProcessLogs() const {
  Status status;
  for (const auto& [number, log] : process_logs_.readable()) {
    if (status.ok()) status = log.WriteSynced(into_);
  }
  return status;
}

// Notes the lengths of all logs again each time: only the youngest log is still appended to.
Status StoreCopy::HoldLogs() {
  std::vector<WalFile> wals;
  Status status = ListWals(dir_, 0, &wals);
  for (auto wal = wals.begin(); wal != wals.end() && status.ok(); ++wal) {
    if (logs_.contains(wal->number)) continue;
    HeldFile file;
    status = Hold(wal->name, &file);
    if (status.ok()) logs_.emplace(wal->number, std::move(file));
    if (status.code() == StatusCode::kNotFound)
      status = Status::Ok();  // Removed after the listing.
  }
  for (auto& [number, log] : logs_) {
    if (status.ok()) status = TakeLength(dir_, &log);
  }
  return status;
}

Status StoreCopy::HoldTables(const Manifest& manifest) {
  std::map<uint64_t, HeldFile> tables;
  Status status;
  for (const auto& [id, family] : manifest.families) {
    for (const auto& [number, bytes] : family.tables) {
      HeldFile file;
      if (const auto held = tables_.find(number); held != tables_.end()) {
        file = std::move(held->second);
        tables_.erase(held);
      } else if (status.ok()) {
        status = HoldTable(TableName(number), &file);
      }
      if (file.fd.valid()) tables.emplace(number, std::move(file));
    }
  }
  for (const auto& [number, file] : tables_) {  // Not needed any more.
    if (file.linked) unlink((into_ + "/" + file.name).c_str());
  }
  tables_ = std::move(tables);
  return status;
}

// A missing table that the manifest names is damage.
Status StoreCopy::HoldTable(const std::string& name, HeldFile* file) const {
  Status status = Hold(name, file);
  file->is_table = true;
  const std::string path = dir_ + "/" + name;
  if (status.ok() && options_.link_tables) {
    file->linked = link(path.c_str(), (into_ + "/" + name).c_str()) == 0;
    if (file->linked || NeedsCopy(errno)) return status;
    status = errno == ENOENT ? Status::NotFound(path + " is missing")
                             : IOErrorOf("cannot link to", path, errno);
  }
  if (status.code() == StatusCode::kNotFound) status = Status::Corruption(status.message());
  if (!status.ok()) *file = HeldFile();
  return status;
}

// IDENTITY and OWNER may be missing: no record depends on them. (Without CURRENT, reading the
// manifest failed before.)
Status StoreCopy::HoldSmallFiles(const Manifest& manifest) {
  small_.clear();
  for (const std::string& name :
       {manifest.Name(), std::string("CURRENT"), std::string("IDENTITY"), std::string("OWNER")}) {
    HeldFile file;
    Status status = Hold(name, &file);
    if (status.code() == StatusCode::kNotFound) continue;
    if (!status.ok()) return status;
    if (small_.empty()) file.bytes = manifest.bytes;
    small_.push_back(std::move(file));
  }
  return Status::Ok();
}

Status StoreCopy::Hold(const std::string& name, HeldFile* file) const {
  const std::string path = dir_ + "/" + name;
  file->name = name;
  Status status = OpenToRead(path, &file->fd);
  return status.ok() ? TakeLength(dir_, file) : status;
}

uint64_t StoreCopy::HeldBytes() const {
  uint64_t bytes = 0;
  for (const auto& [number, table] : tables_) bytes += table.bytes;
  for (const auto& [number, log] : logs_) bytes += log.bytes;
  for (const HeldFile& file : small_) bytes += file.bytes;
  return bytes;
}

Status StoreCopy::Copy(const HeldFile& file, StepProgress* step) {
  report_->bytes += file.bytes;
  if (file.linked || (file.is_table && LinkEarlier(file))) {
    report_->linked_bytes += file.bytes;
    step->Add(file.bytes);
    return Status::Ok();
  }
  return CopyHeld(file, into_ + "/" + file.name, step);
}

Status StoreCopy::CopyHeld(const HeldFile& file, const std::string& to, StepProgress* step) {
  uint64_t done = 0;  // As far as CopyBytes has come.
  const FileDescriptor copy(
      CurrentFileCalls().Open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW));
  if (!copy.valid()) return IOErrorOf("cannot create", to, errno);
  Status status = CopyBytes(file.fd.get(), dir_ + "/" + file.name, file.bytes, copy.get(), to, [&] {
    const uint64_t now = std::min(file.bytes, done + kCopyChunk);
    step->Add(now - done);
    done = now;
    return CheckCancelled();
  });
  if (!status.ok()) return status;
  // The times say when the store was opened and last written. Without them the copy is still good.
  static_cast<void>(futimens(copy.get(), file.times.data()));
  if (CurrentFileCalls().Sync(copy.get(), to) != 0) return IOErrorOf("cannot sync", to, errno);
  return Status::Ok();
}

// Compares every byte: in a store that was restored and then changed, another table can have the
// same name and length.
bool StoreCopy::LinkEarlier(const HeldFile& file) {
  if (options_.earlier.empty()) return false;
  const std::string path = options_.earlier + "/" + file.name;
  FileDescriptor earlier(-1);
  struct stat info = {};
  if (!OpenToRead(path, &earlier).ok() || fstat(earlier.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) != file.bytes) {
    return false;
  }
  std::string chunk;
  std::string other;
  for (uint64_t done = 0; done < file.bytes; done += chunk.size()) {
    if (!CheckCancelled().ok()) return false;
    chunk.resize(std::min<uint64_t>(kCopyChunk, file.bytes - done));
    other.resize(chunk.size());
    if (!ReadWhole(file.fd.get(), dir_ + "/" + file.name, done, &chunk) ||
        !ReadWhole(earlier.get(), path, done, &other) || chunk != other) {
      return false;
    }
  }
  return link(path.c_str(), (into_ + "/" + file.name).c_str()) == 0;
}

}  // namespace

Status CopyStore(const std::string& dir, const std::string& into, const StoreCopyOptions& options,
                 StoreCopyReport* report) {
  return StoreCopy(dir, into, options, report).Run();
}

}  // namespace wq::storage
