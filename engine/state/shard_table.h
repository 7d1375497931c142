// ShardTable: which worker serves which shard. Pure; thread-compatible.
//
// Invariant, with at least one worker: each shard has exactly one worker, and the workers' numbers
// of shards differ by one at most. Shards move only in Join and Leave, and no more
// of them than the invariant requires.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace wq {

class ShardTable {
 public:
  explicit ShardTable(uint32_t shards) : shards_(shards) {}

  uint64_t Join();  // The worker's id.
  void Leave(uint64_t worker);

  // The shards of a worker, in no order. REQUIRES: it has joined and not left.
  const std::vector<uint32_t>& Shards(uint64_t worker) const { return workers_.at(worker); }

 private:
  using Workers = std::map<uint64_t, std::vector<uint32_t>>;
  Workers::iterator Least();
  Workers::iterator Most();

  const uint32_t shards_;
  uint64_t last_id_ = 0;
  Workers workers_;
};

}  // namespace wq
