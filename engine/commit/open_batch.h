// OpenBatch: the batches that were appended to the journal and are not being written yet.
//
//   log->Append(batch.mutations());
//   open.AppendLogged(7, batch, begin, {.is_new = true});   // An Add puts a new row.
//   …
//   open.AppendLogged(8, batch, begin, {.put_at = 7});      // Its Done erases it.
//   storage->Write(open.Close(), sync);                     // Has neither of the two.
//
// The process log has the bytes of most batches, so they are not copied here: Close reads them
// there. A batch that does not fit the log is copied, and so are all behind it, until MoveToLog: so
// the batches in the log come first, and a kill leaves them without a gap.
//
// A row that is put and erased again between two writes is not written at all. No crash can show
// the difference: a write is applied whole or not at all, and in both cases the row does not exist
// afterwards. In a store with hot keys that saves most of the work (docs/performance.md); in others
// it costs one number per batch. Both must be in the process log: otherwise a recovery could find
// the put there and nowhere the erase.
//
// Thread-compatible: the journal's lock guards it. From Close to Clear it belongs to the thread
// that writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/order/position.h"
#include "storage/mutation_batch.h"
#include "storage/process_log.h"

namespace wq {

class OpenBatch {
 public:
  // `log` is borrowed. Null: there is none, and AppendLogged is not called.
  explicit OpenBatch(const storage::ProcessLog* log) : log_(log) {}

  // A batch whose record in the log begins at `begin` and is the last one.
  // REQUIRES: `position` and `begin` continue the last batch unless empty(); all_logged().
  void AppendLogged(Position position, const storage::MutationBatch& batch,
                    storage::LogPosition begin, const RowChange& change);
  // A batch that is not in the log. REQUIRES: `position` continues the last batch unless empty().
  void Append(Position position, const storage::MutationBatch& batch);

  // Moves the first copied batches to the log, each as a record of its own, as many as fit. Returns
  // the position of the last batch that is in the log then; 0 if none of them is.
  Position MoveToLog(storage::ProcessLog* log);

  // Whether there is nothing to write.
  bool empty() const { return dropped_ == marks_.size() && all_logged(); }
  bool all_logged() const { return copies_.size() == moved_; }
  // Of the batches that are copied and not moved.
  size_t bytes() const { return copied_.bytes() - moved_bytes_; }

  // The mutations to write, in order. Nothing may be appended until Clear.
  storage::MutationBatch& Close();

  void Clear();       // Keeps its memory.
  void FreeMemory();  // Clears it, and keeps none.
  void Swap(OpenBatch& other) noexcept;

 private:
  // Of a record of the log.
  struct Mark {
    uint32_t mutations;
    bool is_new;   // One mutation, which puts a new row.
    bool dropped;  // Not to be written.
  };
  // Of a batch in copied_.
  struct Copy {
    uint32_t mutations;
    size_t bytes;
  };

  const storage::ProcessLog* const log_;
  Position first_ = 0;                  // Of the batches; the others follow without a gap.
  std::vector<Mark> marks_;             // Of those in the log, which are the first ones.
  size_t dropped_ = 0;                  // Marks that are dropped.
  storage::LogPosition log_begin_ = 0;  // The records of marks_ are in the log from here …
  storage::LogPosition log_end_ = 0;    // … to here.
  std::vector<Copy> copies_;            // Of all that was copied; the first moved_ are in the log.
  size_t moved_ = 0;
  storage::MutationBatch copied_;  // Their bytes, of which moved_bytes_ are in the log.
  size_t moved_bytes_ = 0;
  storage::MutationBatch closed_;  // Of Close.
};

}  // namespace wq
