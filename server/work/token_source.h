// TokenSource: the tokens of assignments. Each is greater than all before it, also over restarts:
// they come from blocks of numbers that the store reserves on disk.
//
// Threading: thread-safe. A crash: leaves the rest of a block unused.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "wq/status.h"

namespace wq {

class Store;

class TokenSource {
 public:
  explicit TokenSource(Store* store) : store_(store) {}

  // Reserves the first block, so that Take does not wait. Blocks: for a write that survives a power
  // cut, at the first call.
  Status Prepare() WQ_EXCLUDES(mu_);
  // Takes `count` tokens in a row. Blocks: as Prepare, once in 2^32 tokens. REQUIRES: count <=
  // 2^31.
  Status Take(uint64_t count, uint64_t* first) WQ_EXCLUDES(mu_);

 private:
  // Makes sure that `count` tokens are reserved. The rest of a block that is too small is not used.
  Status Reserve(uint64_t count) WQ_REQUIRES(mu_);

  Store* const store_;
  Mutex mu_;
  uint64_t next_ WQ_GUARDED_BY(mu_) = 0;
  uint64_t end_ WQ_GUARDED_BY(mu_) = 0;  // Of the block.
};

}  // namespace wq
