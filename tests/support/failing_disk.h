// FailingDisk: a disk on which one call fails, or every call from one on, until Recover.
#pragma once

#include <cstdint>

#include "tests/support/watched_disk.h"

namespace wq::support {

class FailingDisk final : public WatchedDisk {
 public:
  enum class Calls : uint8_t {
    kChanges,  // Only calls that need space: on a full disk files can still be read, mapped and
               // deleted.
    kAll,
  };
  struct Fault {
    uint64_t at = UINT64_MAX;  // The number of the failing call, from 0, among `calls`.
    int error = 0;             // errno.
    bool sticky = false;       // All later calls fail, too.
    Calls calls = Calls::kAll;
  };

  explicit FailingDisk(const Fault& fault) : fault_(fault) {}

  uint64_t calls() const {
    const std::lock_guard lock(mu_);
    return calls_;
  }
  uint64_t failed() const {
    const std::lock_guard lock(mu_);
    return failed_;
  }
  // From now on no call fails.
  void Recover() {
    const std::lock_guard lock(mu_);
    fault_.at = UINT64_MAX;
  }
  // From now on calls fail as `fault` says, with its `at` counted from the next call.
  void Break(const Fault& fault) {
    const std::lock_guard lock(mu_);
    fault_ = fault;
    fault_.at += calls_;
  }

 protected:
  int Before(const FileCall& call) override {
    if (fault_.calls == Calls::kChanges &&
        (call.kind == FileCall::Kind::kRead || call.kind == FileCall::Kind::kMap ||
         call.kind == FileCall::Kind::kDelete)) {
      return 0;
    }
    const uint64_t number = calls_++;
    if (number < fault_.at || (number > fault_.at && !fault_.sticky)) {
      return 0;
    }
    ++failed_;
    return fault_.error;
  }

 private:
  Fault fault_;         // mu_ guards all members.
  uint64_t calls_ = 0;  // Of the fault's `calls`.
  uint64_t failed_ = 0;
};

}  // namespace wq::support
