#include "storage/process_log.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/check.h"
#include "base/file_calls.h"
#include "base/files.h"
#include "base/mutant.h"
#include "storage/process_log/format.h"

namespace wq::storage {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "end is stored as one word");

constexpr uint64_t kXfs = 0x58465342;  // linux/magic.h of some kernels lacks it.

// Whether files can share their blocks: what `cp` makes there takes no space, and the next store to
// a shared page takes some, although it was allocated. xfs and btrfs clone, and others that do not
// say so clearly are taken for such.
bool SharesBlocks(int fd, const std::string& path) {
  return CurrentFileCalls().Control(fd, path, FICLONE, static_cast<uintptr_t>(fd)) == 0 ||
         errno != EOPNOTSUPP;
}

// overlayfs passes the calls on to a file system below, whose type it hides. Of those with which it
// works, the ones that can list a file's extents keep files in blocks of their own disk, like ext4
// and xfs. fuse and zfs cannot; nor can tmpfs.
bool ListsExtents(int fd, const std::string& path) {
  struct fiemap count;  // Its last member is an array of no elements, which "= {}" would set.
  std::memset(&count, 0, sizeof count);
  count.fm_length = FIEMAP_MAX_OFFSET;
  return CurrentFileCalls().Control(fd, path, FS_IOC_FIEMAP, reinterpret_cast<uintptr_t>(&count)) ==
         0;
}

// Ok: on this file system a store to an allocated page needs no new space, and no network. On
// others (btrfs, zfs, nfs, cifs, fuse) it may: then it can raise SIGBUS.
Status CheckLogFileSystem(int fd, const std::string& path) {
  uint64_t type = 0;
  if (CurrentFileCalls().FileSystemType(fd, path, &type) != 0) {
    return IOErrorOf("cannot read the file system of", path, errno);
  }
  const bool is_known = type == EXT4_SUPER_MAGIC || type == kXfs || type == TMPFS_MAGIC ||
                        (type == OVERLAYFS_SUPER_MAGIC && ListsExtents(fd, path));
  if (!is_known) {
    return Status::NotSupported(path +
                                " is on a file system that may fail a store to a mapped file");
  }
  return SharesBlocks(fd, path)
             ? Status::NotSupported(path +
                                    " is on a file system that may fail a store to a mapped file, "
                                    "since files can share blocks there (reflinks)")
             : Status::Ok();
}

// Allocates the whole file, and writes and syncs its first pages.
Status FillLogFile(int fd, const std::string& path, const ProcessLogHeader& header) {
  if (CurrentFileCalls().Allocate(fd, path, kLogDataOffset + header.capacity) != 0) {
    return errno == EOPNOTSUPP || errno == EINVAL
               ? Status::NotSupported("the file system cannot allocate " + path)
               : IOErrorOf("cannot allocate", path, errno);
  }
  Status status = WriteAll(fd, path, EncodeLogHeader(header));
  if (status.ok() && CurrentFileCalls().Sync(fd, path) != 0) {
    status = IOErrorOf("cannot sync", path, errno);
  }
  return status;
}

Status MapLogFile(int fd, const std::string& path, const ProcessLogHeader& header, char** mapping) {
  const size_t bytes = kLogDataOffset + header.capacity;
  void* const mapped = CurrentFileCalls().Map(fd, path, bytes);
  if (mapped == nullptr) {
    return errno == ENODEV ? Status::NotSupported("the file system cannot map " + path)
                           : IOErrorOf("cannot map", path, errno);
  }
  // A forked child must not write here: its parent does.
  if (madvise(mapped, bytes, MADV_DONTFORK) != 0) {
    CurrentFileCalls().Unmap(mapped, bytes);
    return Status::NotSupported("the kernel cannot hide the mapping of " + path +
                                " from forked children");
  }
  *mapping = static_cast<char*>(mapped);
  return Status::Ok();
}

uint64_t NewNonce() {
  std::random_device random;
  return WQ_MUTANT(log_without_nonce) ? 0 : uint64_t{random()} << 32 | random();
}

}  // namespace

std::string ProcessLogName(uint64_t number) {
  return absl::StrCat("process-", absl::Dec(number, absl::kZeroPad6), ".ring");
}

Status ListProcessLogs(const std::string& dir, std::vector<uint64_t>* numbers) {
  numbers->clear();
  std::vector<NumberedFile> files;
  Status status = ListNumbered(dir, "process-", ".ring", &files);
  for (const NumberedFile& file : files) {
    if (file.name == ProcessLogName(file.number)) numbers->push_back(file.number);
  }
  return status;
}

Status ProcessLog::Create(const std::string& dir, ProcessLogHeader header,
                          std::unique_ptr<ProcessLog>* log) {
  header.nonce = NewNonce();
  const std::string path = dir + "/" + ProcessLogName(header.number);
  if (header.boot_id.empty()) {
    return Status::NotSupported("the id of this boot cannot be read");
  }
  FileCalls& calls = CurrentFileCalls();
  // The name is given to a complete file only: a reader beside this owner must not take half of one
  // for a damaged log.
  const std::string unfinished = dir + "/" + kUnfinishedProcessLog;
  if (calls.Remove(unfinished) != 0 && errno != ENOENT) {
    return IOErrorOf("cannot remove", unfinished, errno);
  }
  const FileDescriptor file(
      calls.Open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return IOErrorOf("cannot create", unfinished, errno);
  char* mapping = nullptr;
  Status status = CheckLogFileSystem(file.get(), path);
  if (status.ok()) status = FillLogFile(file.get(), unfinished, header);
  if (status.ok() && calls.Rename(unfinished, path) != 0) {
    status = IOErrorOf("cannot rename", unfinished, errno);
  }
  if (status.ok()) status = SyncDirectory(dir);
  if (status.ok()) status = MapLogFile(file.get(), path, header, &mapping);
  if (!status.ok()) {
    static_cast<void>(calls.Remove(unfinished));
    static_cast<void>(calls.Remove(path));
    return status;
  }
  log->reset(new ProcessLog(std::move(header), mapping));
  return status;
}

ProcessLog::ProcessLog(ProcessLogHeader header, char* mapping)
    : header_(std::move(header)), mapping_(mapping) {}

ProcessLog::~ProcessLog() { CurrentFileCalls().Unmap(mapping_, kLogDataOffset + header_.capacity); }

bool ProcessLog::Append(std::string_view mutations) {
  const uint64_t bytes = LogRecordBytes(mutations.size());
  if (bytes > header_.capacity / 2 || end_ + bytes - released_ > header_.capacity) return false;
  const LogRecordHeader header = EncodeLogRecordHeader(end_, header_.nonce, mutations);
  const uint64_t offset = offset_;
  std::atomic_ref<uint64_t> end(*reinterpret_cast<uint64_t*>(mapping_ + kLogEndOffset));
  if (WQ_MUTANT(log_end_first)) end.store(end_ + bytes, std::memory_order_release);
  if (bytes <= header_.capacity - offset) {
    char* const to = mapping_ + kLogDataOffset + offset;
    std::memcpy(to, header.data(), header.size());
    std::memcpy(to + header.size(), mutations.data(), mutations.size());
  } else {
    CopyIn({header.data(), header.size()});
    CopyIn(mutations);
  }
  offset_ = offset + bytes < header_.capacity ? offset + bytes : offset + bytes - header_.capacity;
  end_ += bytes;
  end.store(end_, std::memory_order_release);
  return true;
}

// Copies to offset_ and on, and moves it behind the bytes.
void ProcessLog::CopyIn(std::string_view bytes) {
  char* const ring = mapping_ + kLogDataOffset;
  const uint64_t first = header_.capacity - offset_;
  if (bytes.size() < first) {
    std::memcpy(ring + offset_, bytes.data(), bytes.size());
    offset_ += bytes.size();
    return;
  }
  std::memcpy(ring + offset_, bytes.data(), first);
  offset_ = bytes.size() - first;
  std::memcpy(ring, bytes.data() + first, offset_);
}

uint64_t ProcessLog::RecordBytes(uint64_t mutations) { return LogRecordBytes(mutations); }

std::string_view ProcessLog::MutationsAt(LogPosition position, std::string* copy) const {
  const char* const ring = mapping_ + kLogDataOffset;
  const uint64_t capacity = header_.capacity;
  uint32_t bytes = 0;
  std::memcpy(&bytes, ring + (position + kLogLengthOffset) % capacity, sizeof bytes);
  const uint64_t begin = (position + kLogRecordHeaderBytes) % capacity;
  if (bytes <= capacity - begin) return {ring + begin, bytes};
  copy->assign(ring + begin, capacity - begin);
  copy->append(ring, bytes - copy->size());
  return *copy;
}

void ProcessLog::Release(LogPosition position) {
  WQ_CHECK(position <= end_, "a part of the process log that was not appended is released");
  released_ = std::max(released_, position);
}

}  // namespace wq::storage
