#include "server/browse/error_cache.h"

#include <algorithm>
#include <utility>

namespace wq {

std::shared_ptr<const GroupedErrors> ErrorCache::Find(const std::string& queue) {
  const MutexLock lock(mu_);
  const auto found = answers_.find(queue);
  const bool good = found != answers_.end() && now_() < found->second.good_until;
  return good ? found->second.errors : nullptr;
}

std::shared_ptr<const GroupedErrors> ErrorCache::FindOld(const std::string& queue) {
  const MutexLock lock(mu_);
  const auto found = answers_.find(queue);
  return found == answers_.end() ? nullptr : found->second.errors;
}

std::shared_ptr<const GroupedErrors> ErrorCache::Put(const std::string& queue,
                                                     GroupedErrors errors) {
  constexpr int kShare = 10;
  const TimePoint begun = errors.begun;
  auto kept = std::make_shared<const GroupedErrors>(std::move(errors));
  const MutexLock lock(mu_);
  answers_[queue] = {kept,
                     begun + std::min<TimePoint::duration>(kShare * (now_() - begun), kMaxAge)};
  if (answers_.size() > kMaxAnswers) {  // The one that is useless first goes.
    answers_.erase(std::min_element(
        answers_.begin(), answers_.end(),
        [](const auto& a, const auto& b) { return a.second.good_until < b.second.good_until; }));
  }
  return kept;
}

}  // namespace wq
