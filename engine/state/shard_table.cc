#include "engine/state/shard_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace wq {

bool ShardTable::HasFewer(const Workers::value_type& a, const Workers::value_type& b) {
  return a.second.shards.size() < b.second.shards.size();
}

ShardTable::Workers::iterator ShardTable::Least() {
  return std::min_element(workers_.begin(), workers_.end(), HasFewer);
}

ShardTable::Workers::iterator ShardTable::Most() {
  return std::max_element(workers_.begin(), workers_.end(), HasFewer);
}

uint64_t ShardTable::Join() {
  const bool first = workers_.empty();
  std::vector<uint32_t>& own = workers_[++last_id_].shards;
  if (first) {
    own.resize(shards_);
    std::iota(own.begin(), own.end(), 0U);
  }
  for (auto most = Most(); most->second.shards.size() > own.size() + 1; most = Most()) {
    own.push_back(most->second.shards.back());
    most->second.shards.pop_back();
  }
  return last_id_;
}

void ShardTable::Leave(uint64_t worker) {
  const auto it = workers_.find(worker);
  WQ_CHECK(it != workers_.end(), "Leave of a worker that has not joined");
  const std::vector<uint32_t> left = std::move(it->second.shards);
  workers_.erase(it);
  if (workers_.empty()) {
    return;  // The next worker to join gets all shards.
  }
  for (const uint32_t shard : left) {
    Least()->second.shards.push_back(shard);
  }
}

}  // namespace wq
