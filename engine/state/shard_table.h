// ShardTable: which worker serves which shard. Pure; thread-compatible.
//
// Invariant, with at least one worker: each shard has exactly one worker, and the workers' numbers
// of shards differ by one at most. Shards move only in Join and Leave, and no more
// of them than the invariant requires.
#pragma once

#include <cstddef>
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
  const std::vector<uint32_t>& Shards(uint64_t worker) const { return workers_.at(worker).shards; }
  // Calls take(shard) for the shards of the worker until it returns true. Begins behind the shard
  // for which it last did: so none is served before all others, and many calls together pass each
  // shard about once. False: for none. REQUIRES: as Shards.
  template <typename Take>
  bool TakeInTurn(uint64_t worker, const Take& take) {
    Own& own = workers_.at(worker);
    for (size_t i = 0; i < own.shards.size(); ++i) {
      const size_t at = (own.turn + i) % own.shards.size();
      if (take(own.shards[at])) {
        own.turn = at + 1;
        return true;
      }
    }
    return false;
  }

 private:
  struct Own {
    std::vector<uint32_t> shards = {};
    size_t turn = 0;  // Where TakeInTurn begins.
  };
  using Workers = std::map<uint64_t, Own>;
  static bool HasFewer(const Workers::value_type& a, const Workers::value_type& b);
  Workers::iterator Least();
  Workers::iterator Most();

  const uint32_t shards_;
  uint64_t last_id_ = 0;
  Workers workers_;
};

}  // namespace wq
