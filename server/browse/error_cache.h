// ErrorCache: answers to "which errors are there", used again for a while, since each takes a scan
// of all keys.
//
//   std::shared_ptr<const GroupedErrors> errors = cache.Find(queue);
//   if (errors == nullptr) errors = cache.Put(queue, …);  // What a scan has found.
//
// An answer is used again for ten times as long as it took, at most kMaxAge: so the scans take a
// tenth of one core, however many pages are open, and the answer for a small queue is always new.
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

  TimePoint Now() const { return now_(); }  // For GroupedErrors::begun.
  // nullptr: there is none, or it was used for long enough.
  std::shared_ptr<const GroupedErrors> Find(const std::string& queue) WQ_EXCLUDES(mu_);
  // The last answer, however old; nullptr: there is none.
  std::shared_ptr<const GroupedErrors> FindOld(const std::string& queue) WQ_EXCLUDES(mu_);
  // To be called at the end of the scan. Returns the answer.
  std::shared_ptr<const GroupedErrors> Put(const std::string& queue, GroupedErrors errors)
      WQ_EXCLUDES(mu_);

 private:
  struct Answer {
    std::shared_ptr<const GroupedErrors> errors;
    TimePoint good_until;
  };

  const std::function<TimePoint()> now_;
  Mutex mu_;
  std::map<std::string, Answer> answers_ WQ_GUARDED_BY(mu_);  // By queue.
};

}  // namespace wq
