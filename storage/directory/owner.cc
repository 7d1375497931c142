#include "storage/owner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_calls.h"
#include "base/files.h"
#include "base/process_mark.h"

namespace wq::storage {
namespace {

constexpr const char* kOwnerFile = "/OWNER";

// The whole file. l_pid must be 0 for locks of this kind.
struct flock WholeFile(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// OWNER is "4711\n", or "4711\nclosed\n" after the owner has closed the store.
constexpr std::string_view kClosed = "\nclosed\n";

pid_t ReadPid(int fd, bool* closed = nullptr) {
  char text[32];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  pid_t pid = 0;
  if (size <= 0) return 0;
  const char* const end = std::from_chars(text, text + size, pid).ptr;
  if (closed != nullptr) *closed = std::string_view(end, text + size) == kClosed;
  return pid > 0 ? pid : 0;
}

Status WritePid(int fd, const std::string& path) {
  const std::string text = std::to_string(getpid()) + "\n";
  if (pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd, static_cast<off_t>(text.size())) != 0) {
    return IOErrorOf("cannot write", path, errno);
  }
  return Status::Ok();
}

// A clock that also advances while the process is stopped and while the machine sleeps.
int64_t BootNs() {
  struct timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

enum class Sight : uint8_t { kHasItOpen, kHasNot, kHidden };

// Whether the process of a directory in /proc has the file open. kHidden: it is another user's.
Sight LookAt(const std::string& process, const struct stat& file) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(process + "/fd", error), end; !error && it != end;
       it.increment(error)) {
    struct stat open = {};
    if (stat(it->path().c_str(), &open) == 0 && open.st_dev == file.st_dev &&
        open.st_ino == file.st_ino) {
      return Sight::kHasItOpen;
    }
  }
  return error == std::errc::permission_denied ? Sight::kHidden : Sight::kHasNot;
}

// The pid of a process that has the file open; empty: none that can be seen.
std::string FindOpener(const struct stat& file) {
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename();
    const bool is_process = name.front() >= '1' && name.front() <= '9';
    if (is_process && LookAt(it->path(), file) == Sight::kHasItOpen) return name;
  }
  return {};
}

std::string Describe(const std::string& path, pid_t pid) {
  // Between the owner's lock and its write of the pid, OWNER has no pid.
  if (pid == 0) return "another process";
  std::string named = "process " + std::to_string(pid);
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0 || access("/proc/self/fd", F_OK) != 0) return named;
  const Sight sight = LookAt("/proc/" + std::to_string(pid), file);
  if (sight == Sight::kHasItOpen) return named;
  const std::string other = FindOpener(file);
  if (!other.empty()) return "process " + other;
  return sight == Sight::kHidden ? named : "a process of another PID namespace";
}

}  // namespace

Status OwnerLock::Acquire(const std::string& dir, std::unique_ptr<OwnerLock>* lock) {
  const std::string path = dir + kOwnerFile;
  // The file may be removed between open and lock: then the lock protects nothing.
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::string before;
    // A longer file was not written by an OwnerLock.
    const Status had = ReadSmallFile(path, 64, &before);
    const int fd = CurrentFileCalls().Open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return IOErrorOf("cannot open", path, errno);
    std::unique_ptr<OwnerLock> owner(new OwnerLock(fd, path));
    struct flock whole = WholeFile(F_WRLCK);
    if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
      if (errno == EAGAIN || errno == EACCES) {
        const pid_t pid = ReadPid(fd);
        owner.reset();  // Closed first, so that Describe does not find this process.
        return Status::Locked(dir + " is owned by " + Describe(path, pid));
      }
      return IOErrorOf("cannot lock", path, errno);
    }
    if (!IsStillAt(fd, path)) continue;
    struct stat info = {};
    if (fstat(fd, &info) != 0) return IOErrorOf("cannot look at", path, errno);
    if (had.ok()) owner->before_ = {std::move(before), info.st_mtim};
    Status status = WritePid(fd, path);
    if (status.ok()) *lock = std::move(owner);
    return status;
  }
  return Status::IOError(path + " is being replaced all the time");
}

void OwnerLock::Withdraw() {
  if (!IsStillAt(fd_, path_)) return;
  // Failures are ignored: a wrong pid in OWNER does no harm.
  if (!before_) {
    unlink(path_.c_str());
  } else if (ftruncate(fd_, 0) == 0) {
    const auto& [text, modified] = *before_;
    [[maybe_unused]] const ssize_t written = pwrite(fd_, text.data(), text.size(), 0);
    const struct timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, modified};
    futimens(fd_, times);
  }
}

// Keeps OWNER's modification time, which says when the owner opened the store.
void OwnerLock::MarkClosed() const {
  struct stat info = {};
  if (fstat(fd_, &info) != 0) return;
  const std::string text = std::to_string(getpid()) + std::string(kClosed);
  [[maybe_unused]] const ssize_t written = pwrite(fd_, text.data(), text.size(), 0);
  const struct timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, info.st_mtim};
  futimens(fd_, times);
}

// The lock belongs to the open file, which a forked child shares: it would outlive an owner that is
// killed.
OwnerLock::OwnerLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {
  CloseInChildren(fd_);
}

OwnerLock::~OwnerLock() {
  ForgetInChildren(fd_);
  // A child that has not run since its fork, or was made by another call, still has the file open.
  struct flock whole = WholeFile(F_UNLCK);
  fcntl(fd_, F_OFD_SETLK, &whole);
  close(fd_);
}

Status OwnerLock::CheckBeforeWrite() {
  const int64_t now_ns = BootNs();
  if (now_ns - checked_ns_ < kTrustedNs) return Status::Ok();
  Status status = Check();
  if (status.ok()) checked_ns_ = now_ns;
  return status;
}

Status OwnerLock::Check() const {
  struct stat locked;
  struct stat named;
  if (fstat(fd_, &locked) != 0) return IOErrorOf("cannot look at", path_, errno);
  if (locked.st_nlink == 0)
    return Status::Locked(path_ + " was removed: there may be another owner");
  if (lstat(path_.c_str(), &named) != 0) return IOErrorOf("cannot look at", path_, errno);
  if (named.st_dev != locked.st_dev) {
    return Status::IOError(path_ + " is on another file system than it was");
  }
  if (named.st_ino != locked.st_ino) {
    return Status::Locked(path_ + " was replaced: there may be another owner");
  }
  return Status::Ok();
}

OwnerInfo ReadOwner(const std::string& dir) {
  const std::string path = dir + kOwnerFile;
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  OwnerInfo info;
  if (!file.valid()) return info;
  struct flock whole = WholeFile(F_RDLCK);
  info.alive = fcntl(file.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  info.pid = ReadPid(file.get(), &info.closed);
  return info;
}

std::string DescribeOwner(const std::string& dir) {
  return Describe(dir + kOwnerFile, ReadOwner(dir).pid);
}

}  // namespace wq::storage
