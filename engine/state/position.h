// Position: a place in a store's stream of transitions, and RowChange: what a transition does to its row.
// What the state of a queue and the journal (engine/commit/journal.h) tell each other. Plain data.
#pragma once

#include <cstdint>

namespace wq {

// Given by Journal::Append, in ascending order over all queues of a store. 0: on disk since the store was
// opened.
using Position = uint64_t;

// What the only mutation of a batch does to its row; says nothing about a batch with more of them.
struct RowChange {
  // It puts a row that does not exist: neither on disk nor in an earlier batch.
  bool is_new = false;
  // It erases a row that was last put at this position. 0: unknown.
  Position put_at = 0;
};

}  // namespace wq
