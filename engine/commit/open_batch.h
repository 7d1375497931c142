// OpenBatch: the batches that were appended to the journal and are not being written yet, as one
// batch.
//
//   open.Append(7, batch, {.is_new = true});   // True: an Add puts a row that did not exist.
//   open.Append(8, batch, {.put_at = 7});      // False: its Done erases it; both are cancelled.
//   storage->Write(open.Close(), sync);
//
// A row that is put and erased again between two writes is not written at all. No crash can show
// the difference: a write is applied whole or not at all, and in both cases the row does not exist
// afterwards. In a store with hot keys that saves most of the work (docs/performance.md); in others
// it costs one number per batch.
//
// Thread-compatible: the journal's lock guards it. From Close to Clear it belongs to the thread
// that writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/state/position.h"
#include "storage/mutation_batch.h"

namespace wq {

class OpenBatch {
 public:
  // False: the batch erases a row that was put here. Neither the put nor the erase will be written,
  // and `position` stays free for the next Append.
  // REQUIRES: `position` is the one after that of the last Append that returned true, unless
  // empty().
  bool Append(Position position, const storage::MutationBatch& batch, const RowChange& change);

  // Whether there is nothing to write.
  bool empty() const { return batch_.count() == dropped_; }
  // Its size in memory, with the cancelled mutations.
  size_t bytes() const { return batch_.bytes(); }

  // The mutations to write. Nothing may be appended until Clear.
  storage::MutationBatch& Close();

  void Clear();  // Keeps its memory.
  void Swap(OpenBatch& other) noexcept;

 private:
  // Of an Append that put a new row: the offset of the put in batch_, plus 1. Of any other: 0.
  using Mark = uint32_t;
  static constexpr Mark kDropped = Mark{1} << 31;  // Added to a mark when the put is cancelled.

  bool CancelPut(Position put_at, const storage::MutationBatch& erase);

  storage::MutationBatch batch_;
  std::vector<Mark> marks_;  // Of the positions from first_ on.
  Position first_ = 0;
  size_t dropped_ = 0;             // Marks with kDropped; each is one mutation of batch_.
  storage::MutationBatch closed_;  // Of Close: batch_ without the cancelled mutations.
};

}  // namespace wq
