#include "server/browse/error_cache.h"

#include <algorithm>
#include <utility>

namespace wq {

Status ErrorCache::Get(const std::string& queue, const std::function<Status(GroupedErrors*)>& scan,
                       std::shared_ptr<const GroupedErrors>* errors) {
  {
    const MutexLock lock(mu_);
    for (;;) {
      Answer& answer = answers_[queue];
      if (answer.errors != nullptr && now_() < answer.good_until) {
        *errors = answer.errors;
        return {};
      }
      if (!answer.scanning) {
        answer.scanning = true;
        break;
      }
      scanned_.Wait(mu_);
    }
  }
  auto found = std::make_shared<GroupedErrors>();
  found->begun = now_();
  Status status = scan(found.get());
  const TimePoint end = now_();
  const MutexLock lock(mu_);
  Answer& answer = answers_[queue];
  answer.scanning = false;
  if (status.ok()) {
    constexpr int kShare = 10;
    answer.good_until =
        found->begun + std::min<TimePoint::duration>(kShare * (end - found->begun), kMaxAge);
    answer.errors = found;
    *errors = std::move(found);
  } else if (answer.errors == nullptr) {
    answers_.erase(queue);
  }
  DropOldest();
  scanned_.NotifyAll();
  return status;
}

// Drops answers while there are too many, those first that are useless first.
void ErrorCache::DropOldest() {
  while (answers_.size() > kMaxAnswers) {
    auto oldest = answers_.end();
    for (auto it = answers_.begin(); it != answers_.end(); ++it) {
      if (!it->second.scanning &&
          (oldest == answers_.end() || it->second.good_until < oldest->second.good_until)) {
        oldest = it;
      }
    }
    if (oldest == answers_.end()) {
      return;
    }
    answers_.erase(oldest);
  }
}

}  // namespace wq
