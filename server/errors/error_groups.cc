#include "server/errors/error_groups.h"

#include <algorithm>

namespace wq {
void ErrorGroups::Add(const KeyError& key) {
  std::pair<std::string, std::string> id(key.queue, forms_.Of(key.error, key.key));
  auto it = groups_.find(id);
  if (it == groups_.end()) {
    if (groups_.size() >= kMaxGroups) {
      ++ungrouped_;
      return;
    }
    ErrorGroup group{.queue = id.first,
                     .form = id.second,
                     .first_at_us = key.first_at_us,
                     .last_at_us = key.last_at_us,
                     .examples = {}};
    it = groups_.emplace(std::move(id), std::move(group)).first;
  }
  ErrorGroup& group = it->second;
  ++group.keys;
  group.quarantined += key.quarantined ? 1 : 0;
  group.failures += std::min(key.failures, UINT64_MAX - group.failures);
  group.first_at_us = std::min(group.first_at_us, key.first_at_us);
  group.last_at_us = std::max(group.last_at_us, key.last_at_us);
  if (group.examples.size() < kMaxExamples) {
    group.examples.push_back({std::string(key.key), std::string(key.error)});
  }
}

std::vector<ErrorGroup> ErrorGroups::Sorted() const {
  std::vector<ErrorGroup> sorted;
  sorted.reserve(groups_.size());
  for (const auto& [_, group] : groups_) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ErrorGroup& a, const ErrorGroup& b) { return a.keys > b.keys; });
  return sorted;
}

}  // namespace wq
