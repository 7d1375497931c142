// OwnerLock: one process at a time owns a store's directory.
//
// The file OWNER in it carries an open-file-description lock (fcntl(2), F_OFD_SETLK) for as long as
// the owner lives. Its pid is in it as text, for messages, and behind that whether it has closed the
// store. The kernel drops the lock however the process ends. The lock of RocksDB alone is not enough:
// it is gone once somebody unlinks its file. Why not flock: an OFD lock can be looked at without taking
// it, so a reader never gets in the way of an owner that is starting.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "wq/status.h"

namespace wq::storage {

class OwnerLock {
 public:
  // Locked: another process (or another opening in this one) owns it; the message names its pid.
  static Status Acquire(const std::string& dir, std::unique_ptr<OwnerLock>* lock);
  ~OwnerLock();
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

  // This process does not become the owner after all: OWNER says again what it said before.
  void Withdraw();

  // Notes that the store is closed, which an owner that is killed does not come to. That it cannot be
  // noted does no harm, and is not told.
  void MarkClosed() const;

  // Whether the file that is locked is still the directory's OWNER; if somebody removed or replaced
  // it, a second owner may have come, and this one must not write any more. Locked: the ownership is
  // lost. IOError: the file cannot be seen there now; the file system may not be mounted.
  Status Check() const;
  // The same for before each write: looks unless the last look, that was Ok, is less than kTrusted ago. The
  // clock goes on while the process is stopped and while the machine sleeps: who was stopped looks
  // first. By one thread at a time.
  Status CheckBeforeWrite();
  // A look costs a tenth of a write. A second owner needs longer than this to open the store.
  static constexpr int64_t kTrustedNs = 1'000'000;

 private:
  OwnerLock(int fd, std::string path);
  const int fd_;
  const std::string path_;
  int64_t looked_ns_ = -kTrustedNs;    // When the last look began that was Ok.
  std::optional<std::string> before_;  // What the file said; unset if it was made.
};

struct OwnerInfo {
  pid_t pid = 0;        // Of the present or last owner; 0 if the file is missing or unreadable.
  bool alive = false;   // Whether the lock is held now.
  bool closed = false;  // Whether that owner has closed the store.
};
OwnerInfo ReadOwner(const std::string& dir);

}  // namespace wq::storage
