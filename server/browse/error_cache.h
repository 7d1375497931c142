// ErrorCache: answers to "which errors are there", used again for a while, since each takes a scan
// of all keys.
//
//   std::shared_ptr<const GroupedErrors> errors;
//   Status s = cache.Get(queue, [&](GroupedErrors* to) { … }, &errors);
//
// An answer is used again for ten times as long as it took, at most kMaxAge: so the scans take a
// tenth of one core, however many pages are open, and the answer for a small queue is always new.
// Calls for one queue at the same time share one scan.
//
// Memory: bounded, as that of kMaxAnswers GroupedErrors. Threading: thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "server/errors/error_groups.h"
#include "wq/status.h"

namespace wq {

struct GroupedErrors {
  std::vector<ErrorGroup> groups;  // As ErrorGroups::Sorted.
  uint64_t ungrouped = 0;
  std::chrono::steady_clock::time_point begun;  // Of the scan.
};

class ErrorCache {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kMaxAge{60};
  static constexpr size_t kMaxAnswers = 16;

  explicit ErrorCache(std::function<TimePoint()> now = std::chrono::steady_clock::now)
      : now_(std::move(now)) {}

  // `scan` makes a new answer; it is not called under a lock. An error is not kept: it is that of
  // the call which has got it. Blocks: for the scan, of this or another call.
  Status Get(const std::string& queue, const std::function<Status(GroupedErrors*)>& scan,
             std::shared_ptr<const GroupedErrors>* errors) WQ_EXCLUDES(mu_);

 private:
  struct Answer {
    bool scanning = false;
    std::shared_ptr<const GroupedErrors> errors;  // Null: there is none yet.
    TimePoint good_until;
  };
  void DropOldest() WQ_REQUIRES(mu_);

  const std::function<TimePoint()> now_;
  Mutex mu_;
  CondVar scanned_;
  std::map<std::string, Answer> answers_ WQ_GUARDED_BY(mu_);  // By queue.
};

}  // namespace wq
