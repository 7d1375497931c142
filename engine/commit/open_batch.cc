#include "engine/commit/open_batch.h"

#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace wq {

bool OpenBatch::Append(Position position, const storage::MutationBatch& batch,
                       const RowChange& change) {
  const bool one = batch.count() == 1;
  if (one && change.put_at != 0 && CancelPut(change.put_at, batch)) {
    return false;
  }
  if (marks_.empty()) {
    first_ = position;
  }
  WQ_CHECK(first_ + marks_.size() == position, "a gap between two batches");
  const size_t at = batch_.bytes();
  const bool marked = one && (change.is_new || WQ_MUTANT(every_row_is_new)) && at < kDropped - 1;
  marks_.push_back(marked ? static_cast<Mark>(at) + 1 : 0);
  batch_.Append(batch);
  return true;
}

// Cancels the put that was appended at `put_at`, if it is here and is of the erased row.
bool OpenBatch::CancelPut(Position put_at, const storage::MutationBatch& erase) {
  if (marks_.empty() || put_at < first_ || put_at - first_ >= marks_.size()) {
    return false;
  }
  Mark& mark = marks_[put_at - first_];
  if (mark == 0 || (mark & kDropped) != 0 || !batch_.PutsRowOf(erase, mark - 1)) {
    return false;
  }
  mark |= kDropped;
  ++dropped_;
  if (empty()) {
    Clear();
  }
  return true;
}

storage::MutationBatch& OpenBatch::Close() {
  if (dropped_ == 0) {
    return batch_;
  }
  std::vector<size_t> dropped;
  dropped.reserve(dropped_);
  for (const Mark mark : marks_) {
    if ((mark & kDropped) != 0) {
      dropped.push_back((mark & ~kDropped) - 1);
    }
  }
  closed_.Clear();
  closed_.AppendWithout(batch_, dropped);
  return closed_;
}

void OpenBatch::Clear() {
  batch_.Clear();
  marks_.clear();
  dropped_ = 0;
}

void OpenBatch::Swap(OpenBatch& other) noexcept {
  batch_.Swap(other.batch_);
  marks_.swap(other.marks_);
  std::swap(first_, other.first_);
  std::swap(dropped_, other.dropped_);
  closed_.Swap(other.closed_);
}

}  // namespace wq
