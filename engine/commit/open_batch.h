// OpenBatch: what was appended to the journal and is not being written yet, as one batch.
//
//   open.Append(7, batch, {.is_new = true});   // An Add: the put of a row that there was not. True.
//   open.Append(8, batch, {.put_at = 7});      // Its Done: the erase of that row. False: both are gone.
//   storage->Write(open.Close(), sync);
//
// A row that comes and goes within one write is not written at all. No crash can tell: the write is whole or
// not at all, and whether it is or not, the row is not there. It saves a store with hot keys most of its
// work (docs/performance.md), and others pay a number in a vector for it.
//
// Thread-compatible: lives under the journal's lock; Close and what follows it belong to who writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/state/position.h"
#include "storage/mutation_batch.h"

namespace wq {

class OpenBatch {
 public:
  // False: the batch erases a row that is new here. Neither it nor the row's put is to be written, and
  // `position` is still to be given away.
  // REQUIRES: `position` follows that of the last Append that returned true, unless empty().
  bool Append(Position position, const storage::MutationBatch& batch, const RowChange& change);

  // Nothing is to be written.
  bool empty() const { return batch_.count() == dropped_; }
  // What it takes in memory.
  size_t bytes() const { return batch_.bytes(); }

  // What is to be written. Nothing may be appended until Clear.
  storage::MutationBatch& Close();

  void Clear();  // Keeps its memory.
  void Swap(OpenBatch& other) noexcept;

 private:
  // An Append: where the put of a new row begins in batch_, plus 1; 0 for anything else.
  using Mark = uint32_t;
  static constexpr Mark kDropped = Mark{1} << 31;  // And its row was erased again.

  bool Undo(Position put_at, const storage::MutationBatch& erase);

  storage::MutationBatch batch_;
  std::vector<Mark> marks_;  // From first_ on.
  Position first_ = 0;
  size_t dropped_ = 0;             // Marks with kDropped, each a mutation of batch_.
  storage::MutationBatch closed_;  // batch_ without them.
};

}  // namespace wq
