// OwnerLock: at most one process at a time owns a store's directory.
//
//   std::unique_ptr<OwnerLock> owner;
//   Status s = OwnerLock::Acquire("/var/lib/pods.wq", &owner);
//
// The owner holds an open-file-description lock (fcntl(2), F_OFD_SETLK) on the file OWNER in the
// directory, which the kernel drops however the process ends. The file contains the owner's pid as
// text, for messages, and then whether it has closed the store. RocksDB's own lock is not enough:
// it is lost when its file is unlinked. Why not flock(2): an OFD lock can be queried without taking
// it, so a reader never gets in the way of an owner that is starting.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "wq/status.h"

namespace wq::storage {

class OwnerLock {
 public:
  // Locked: another process (or another opening in this one) owns it; the message names it as
  // DescribeOwner does.
  static Status Acquire(const std::string& dir, std::unique_ptr<OwnerLock>* lock);
  ~OwnerLock();
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

  // For an opening that fails later: restores OWNER as it was before Acquire, with its modification
  // time.
  void Withdraw();

  // Notes in OWNER that the store was closed, which shows that the owner was not killed. A failure
  // does no harm and is not reported.
  void MarkClosed() const;

  // Whether the locked file is still the directory's OWNER. If the file was removed or replaced,
  // there may be a second owner, and this one must not write any more.
  //   Locked    the ownership is lost.
  //   IOError   the file cannot be read there now; the file system may not be mounted.
  Status Check() const;
  // Check, unless it was Ok less than kTrustedNs ago. The clock advances while the process is
  // stopped and while the machine sleeps, so a stopped process checks before its next write. By one
  // thread at a time.
  Status CheckBeforeWrite();
  // Check costs a tenth of a write. A second owner needs longer than this to open the store.
  static constexpr int64_t kTrustedNs = 1'000'000;

 private:
  OwnerLock(int fd, std::string path);
  const int fd_;
  const std::string path_;
  int64_t checked_ns_ = -kTrustedNs;  // When the last Check began that was Ok.
  // OWNER before Acquire, and when it was modified; unset if Acquire created it.
  std::optional<std::pair<std::string, timespec>> before_;
};

struct OwnerInfo {
  pid_t pid = 0;        // Of the present or last owner; 0 if the file is missing or unreadable.
  bool alive = false;   // Whether the lock is held now.
  bool closed = false;  // Whether that owner has closed the store.
};
OwnerInfo ReadOwner(const std::string& dir);

// An owner that holds the lock, for a message: "process 4711". The pid in OWNER is the owner's own,
// so it is "a process of another PID namespace" if no process that can be seen here has the file
// open. "another process": OWNER has no pid yet. Blocks: reads /proc.
std::string DescribeOwner(const std::string& dir);

}  // namespace wq::storage
