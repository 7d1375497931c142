#include "storage/store_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/disk.h"
#include "storage/files.h"
#include "storage/manifest.h"
#include "storage/moment.h"
#include "storage/owner.h"
#include "storage/store_directory.h"
#include "storage/wal_check.h"

namespace wq::storage {
namespace {

constexpr size_t kCopyChunk = size_t{1} << 20;

// A file as it was at the moment: open, and to this length.
struct HeldFile {
  std::string name;
  FileDescriptor fd{-1};
  uint64_t bytes = 0;
  std::array<timespec, 2> times = {};
  bool is_table = false;
};

// Up to `chunk.size()` bytes from `offset`; fewer only at the end. -1 and errno for failure.
ssize_t ReadAt(int fd, uint64_t offset, std::string* chunk) {
  size_t size = 0;
  while (size < chunk->size()) {
    const ssize_t n =
        pread(fd, chunk->data() + size, chunk->size() - size, static_cast<off_t>(offset + size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(size);
}

// Whether no link can be made there, though a copy can.
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
  Status HoldMoment();
  Status HoldAll(const Moment& moment);
  Status HoldTable(const std::string& name);
  Status Hold(const std::string& name, bool is_table);
  void LetGo();
  Status Copy(const HeldFile& file);
  Status CopyBytes(const HeldFile& file, const std::string& to);
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
  std::vector<HeldFile> held_;       // To be copied.
  std::vector<std::string> linked_;  // In into_ already.
};

Status StoreCopy::Run() {
  *report_ = StoreCopyReport();
  Status status = HoldMoment();
  for (auto file = held_.begin(); file != held_.end() && status.ok(); ++file) {
    status = Copy(*file);
  }
  if (status.ok()) status = SyncDirectory(into_);
  return status.ok() ? WriteFormat(into_, format_) : status;
}

// As a reader does it: what was found counts if the owner changed nothing meanwhile.
Status StoreCopy::HoldMoment() {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Moment before = Moment::Of(dir_);
    Status status = HoldAll(before);
    const Moment after = Moment::Of(dir_);
    if (after.HasAllLogsOf(before) && after.SameManifest(before)) return status;
    LetGo();
  }
  return Status::IOError(dir_ + ": its owner, process " + std::to_string(ReadOwner(dir_).pid) +
                         ", is too busy for a steady view; try again");
}

Status StoreCopy::HoldAll(const Moment& moment) {
  DirectoryLook look;
  Status status = LookAtDirectory(dir_, &look);
  if (status.ok() && look.state != DirectoryState::kStore) status = NotAStore(dir_, look);
  if (!status.ok()) return status;
  format_ = look.format;
  Manifest manifest;
  status = ReadManifest(dir_, &manifest);
  for (const auto& [id, family] : manifest.families) {
    for (const auto& [number, bytes] : family.tables) {
      if (status.ok()) status = HoldTable(TableName(number));
    }
  }
  std::vector<WalFile> wals;
  if (status.ok()) status = ListWals(dir_, &wals);
  // Oldest first: when there is a younger one, nothing is appended to a log any more.
  for (const WalFile& wal : wals) {
    if (status.ok() && wal.number >= manifest.FirstLog()) status = Hold(wal.name, false);
  }
  for (const std::string& name : {moment.ManifestName(), std::string("CURRENT")}) {
    if (status.ok()) status = Hold(name, false);
  }
  // Nothing that is stored depends on these two.
  for (const char* const name : {"IDENTITY", "OWNER"}) {
    if (!status.ok()) break;
    status = Hold(name, false);
    if (status.code() == StatusCode::kCorruption) status = Status::Ok();
  }
  return status;
}

// What the manifest names and is not there is damage.
Status StoreCopy::Hold(const std::string& name, bool is_table) {
  const std::string path = dir_ + "/" + name;
  HeldFile file;
  file.name = name;
  file.is_table = is_table;
  file.fd = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!file.fd.valid() || fstat(file.fd.get(), &info) != 0) {
    if (errno == ENOENT) return Status::Corruption(path + " is missing");
    return IOErrorOf("cannot open", path, errno);
  }
  if (!S_ISREG(info.st_mode)) return Status::Corruption(path + " is not a regular file");
  file.bytes = static_cast<uint64_t>(info.st_size);
  file.times = {info.st_atim, info.st_mtim};
  held_.push_back(std::move(file));
  return Status::Ok();
}

Status StoreCopy::HoldTable(const std::string& name) {
  Status status = Hold(name, true);
  if (!status.ok() || !options_.link_tables) return status;
  const std::string path = dir_ + "/" + name;
  if (link(path.c_str(), (into_ + "/" + name).c_str()) == 0) {
    report_->bytes += held_.back().bytes;
    report_->linked_bytes += held_.back().bytes;
    held_.pop_back();
    linked_.push_back(name);
  } else if (!NeedsCopy(errno)) {
    status = IOErrorOf("cannot link to", path, errno);
  }
  return status;
}

void StoreCopy::LetGo() {
  held_.clear();
  for (const std::string& name : linked_) unlink((into_ + "/" + name).c_str());
  linked_.clear();
  *report_ = StoreCopyReport();
}

Status StoreCopy::Copy(const HeldFile& file) {
  report_->bytes += file.bytes;
  if (file.is_table && LinkEarlier(file)) {
    report_->linked_bytes += file.bytes;
    return Status::Ok();
  }
  return CopyBytes(file, into_ + "/" + file.name);
}

Status StoreCopy::CopyBytes(const HeldFile& file, const std::string& to) {
  const FileDescriptor copy(
      DiskCalls().Open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW));
  if (!copy.valid()) return IOErrorOf("cannot create", to, errno);
  std::string chunk;
  for (uint64_t done = 0; done < file.bytes; done += chunk.size()) {
    Status status = CheckCancelled();
    if (!status.ok()) return status;
    chunk.resize(std::min<uint64_t>(kCopyChunk, file.bytes - done));
    const ssize_t n = ReadAt(file.fd.get(), done, &chunk);
    if (n < 0) return IOErrorOf("cannot read", dir_ + "/" + file.name, errno);
    if (static_cast<size_t>(n) < chunk.size()) {
      return Status::IOError(dir_ + "/" + file.name + " became shorter while it was copied");
    }
    status = WriteAll(copy.get(), to, chunk);
    if (!status.ok()) return status;
  }
  // They say when the store was opened, and written last. Whoever cannot keep them has a copy still.
  static_cast<void>(futimens(copy.get(), file.times.data()));
  if (DiskCalls().Sync(copy.get(), to) != 0) return IOErrorOf("cannot sync", to, errno);
  return Status::Ok();
}

// Compared to the byte: a name and a length would be the same in a store that has gone another way
// since.
bool StoreCopy::LinkEarlier(const HeldFile& file) {
  if (options_.earlier.empty()) return false;
  const std::string path = options_.earlier + "/" + file.name;
  const FileDescriptor earlier(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info = {};
  if (!earlier.valid() || fstat(earlier.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) != file.bytes) {
    return false;
  }
  std::string chunk;
  std::string other;
  for (uint64_t done = 0; done < file.bytes; done += chunk.size()) {
    if (!CheckCancelled().ok()) return false;
    chunk.resize(std::min<uint64_t>(kCopyChunk, file.bytes - done));
    other.resize(chunk.size());
    const auto size = static_cast<ssize_t>(chunk.size());
    if (ReadAt(file.fd.get(), done, &chunk) != size || ReadAt(earlier.get(), done, &other) != size)
      return false;
    if (chunk != other) return false;
  }
  return link(path.c_str(), (into_ + "/" + file.name).c_str()) == 0;
}

}  // namespace

Status CopyStore(const std::string& dir, const std::string& into, const StoreCopyOptions& options,
                 StoreCopyReport* report) {
  return StoreCopy(dir, into, options, report).Run();
}

}  // namespace wq::storage
