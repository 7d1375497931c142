// TokenSource: the tokens of assignments. Each is greater than all before it, also over restarts:
// they come from blocks of numbers that the store reserves on disk. Of a replicated store a block
// is used only in the ownership that has reserved it, since the owners in between have reserved
// greater ones.
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
  // Of the present ownership, as Store::Epoch.
  uint64_t Epoch() const;
  // Takes `count` tokens in a row, for keys that were handed out in the ownership `epoch`.
  // NotOwner: it has ended. Blocks: as Prepare, once in 2^32 tokens. REQUIRES: count <= 2^31.
  Status Take(uint64_t epoch, uint64_t count, uint64_t* first) WQ_EXCLUDES(mu_);

 private:
  // Makes sure that `count` tokens are reserved. The rest of a block that is too small, or of
  // another ownership, is not used.
  Status Reserve(uint64_t epoch, uint64_t count) WQ_REQUIRES(mu_);

  Store* const store_;
  Mutex mu_;
  uint64_t epoch_ WQ_GUARDED_BY(mu_) = 0;  // Of the ownership that has reserved the block.
  uint64_t next_ WQ_GUARDED_BY(mu_) = 0;
  uint64_t end_ WQ_GUARDED_BY(mu_) = 0;  // Of the block.
};

}  // namespace wq
