// WatchedDisk: the machine's files, with a hook before and after every call that storage makes on
// them; the hook before a call may refuse it. It applies to stores that are opened while it lives.
//
// Threading: Before and After are called by many threads, one at a time. It must outlive the stores
// on it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace wq::support {

struct FileCall {
  enum class Kind : uint8_t {
    kCreate,    // An empty file, which replaces one of this name.
    kOpen,      // For writing; created if it does not exist.
    kAppend,    // `bytes` at `size`, mostly the end.
    kTruncate,  // To `size`.
    kSync,      // The first `size` bytes of a file.
    kRename,    // To `target`.
    kLink,      // Gives the file the second name `target`.
    kDelete,
    kAllocate,  // `size` bytes, the new ones zeros.
    kMap,       // The first `size` bytes; after it `bytes` is the mapping, which may change.
    kUnmap,     // `bytes`, right before they are unmapped. Is not refused.
    kMakeDirectory,
    kSyncDirectory,
    kRead,  // Any call that changes nothing.
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

  // 0 if the call is to be made; otherwise the errno with which it fails instead.
  int Permit(const FileCall& call) {
    const std::lock_guard lock(mu_);
    return Before(call);
  }
  void Record(const FileCall& call) {
    const std::lock_guard lock(mu_);
    After(call);
  }

 protected:
  virtual int Before(const FileCall& /*call*/) { return 0; }
  virtual void After(const FileCall& /*call*/) {}  // The call succeeded.
  mutable std::mutex mu_;                          // Held during Before and After.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq::support
