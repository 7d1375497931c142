// WatchedDisk: the machine's files with somebody who sees every call that storage makes on them, before
// and after, and may refuse it. Under stores opened while it lives.
//
// Threading: Before and After are called by many threads, one at a time. Lifetime: beyond that of the
// stores on it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace wq::support {

struct FileCall {
  enum class Kind : uint8_t {
    kCreate,    // An empty file of this name, whatever there was.
    kOpen,      // For writing, made if it is not there.
    kAppend,    // `bytes` at `size`, the end.
    kTruncate,  // To `size`.
    kSync,      // The first `size` bytes of a file.
    kRename,    // To `target`.
    kLink,      // As `target`.
    kDelete,
    kMakeDirectory,
    kSyncDirectory,
    kRead,  // Anything that changes nothing.
  };
  Kind kind = Kind::kRead;
  std::string path = {};
  std::string target = {};
  std::string_view bytes = {};
  uint64_t size = 0;
};

class WatchedDisk {
 public:
  WatchedDisk();
  virtual ~WatchedDisk();
  WatchedDisk(const WatchedDisk&) = delete;
  WatchedDisk& operator=(const WatchedDisk&) = delete;

  // 0, or the errno with which the call fails instead of being made.
  int Ask(const FileCall& call) {
    const std::lock_guard lock(mu_);
    return Before(call);
  }
  void Tell(const FileCall& call) {
    const std::lock_guard lock(mu_);
    After(call);
  }

 protected:
  virtual int Before(const FileCall& /*call*/) { return 0; }
  virtual void After(const FileCall& /*call*/) {}  // It was made, and succeeded.
  mutable std::mutex mu_;                          // Held by both.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq::support
