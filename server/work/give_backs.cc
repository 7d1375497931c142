#include "server/work/give_backs.h"

namespace wq {

void GiveBacks::Count(const std::string& key) {
  const MutexLock lock(mu_);
  ++counts_[key];
  if (counts_.size() > kMaxKeys) {
    counts_.erase(counts_.begin());
  }
}

void GiveBacks::Clear(const std::string& key) {
  const MutexLock lock(mu_);
  if (!counts_.empty()) {
    counts_.erase(key);
  }
}

uint64_t GiveBacks::Of(const std::string& key) const {
  const MutexLock lock(mu_);
  const auto it = counts_.find(key);
  return it == counts_.end() ? 0 : it->second;
}

}  // namespace wq
