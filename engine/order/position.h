// Position: a transition's place in the store's stream of transitions. RowChange: what a transition
// does to its row. The interface between QueueState and the journal (engine/commit/journal.h);
// plain data.
#pragma once

#include <cstdint>

namespace wq {

// Returned by Journal::Append; ascending over all queues of a store. 0: before every transition
// since the store was opened, and so on disk already.
using Position = uint64_t;

// What the only mutation of a batch does to its row. Unset for a batch of several mutations.
struct RowChange {
  // It puts a row that exists neither on disk nor in an earlier batch.
  bool is_new = false;
  // It erases a row that was last put at this position. 0: unknown.
  Position put_at = 0;
};

}  // namespace wq
