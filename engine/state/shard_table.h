// ShardTable: which worker serves which shard. Pure; thread-compatible.
//
// Always, with at least one worker: each shard has exactly one, and no worker has two shards more than
// another. A shard changes hands only when somebody joins or leaves, and only as many as that takes.
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

  // The shards of a worker, in no special order. REQUIRES: it has joined and not left.
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
