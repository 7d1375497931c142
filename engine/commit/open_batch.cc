#include "engine/commit/open_batch.h"

#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace wq {

void OpenBatch::AppendLogged(Position position, const storage::MutationBatch& batch,
                             storage::LogPosition begin, const RowChange& change) {
  WQ_CHECK(copied_.empty(), "a batch in the log behind one that is not");
  if (marks_.empty()) {
    first_ = position;
    log_begin_ = begin;
  } else {
    WQ_CHECK(first_ + marks_.size() == position && log_end_ == begin, "a gap between two batches");
  }
  log_end_ = log_->end();
  const bool one = batch.count() == 1;
  Mark mark = {.mutations = static_cast<uint32_t>(batch.count()),
               .is_new = one && (change.is_new || WQ_MUTANT(every_row_is_new)),
               .dropped = false};
  if (one && change.put_at >= first_ && change.put_at - first_ < marks_.size()) {
    Mark& put = marks_[change.put_at - first_];
    if (put.is_new && !put.dropped) {
      put.dropped = mark.dropped = true;
      dropped_ += 2;
    }
  }
  marks_.push_back(mark);
  if (empty()) {
    Clear();
  }
}

bool OpenBatch::MoveToLog(Position last, storage::ProcessLog* log) {
  WQ_CHECK(marks_.empty(), "a batch behind one that is in the log");
  if (copied_.empty()) {
    return true;
  }
  const storage::LogPosition begin = log->end();
  if (!log->Append(copied_.mutations())) {
    return false;
  }
  storage::MutationBatch moved;
  moved.Swap(copied_);
  AppendLogged(last, moved, begin, {});
  moved.Clear();
  copied_.Swap(moved);
  return true;
}

storage::MutationBatch& OpenBatch::Close() {
  if (marks_.empty()) {
    return copied_;
  }
  closed_.Clear();
  auto mark = marks_.begin();
  log_->Read(log_begin_, log_end_, [&](std::string_view mutations) {
    if (!mark->dropped) {
      closed_.AppendEncoded(mutations, mark->mutations);
    }
    ++mark;
  });
  WQ_CHECK(mark == marks_.end(), "the process log has not the records that were appended");
  closed_.Append(copied_);
  return closed_;
}

void OpenBatch::Clear() {
  copied_.Clear();
  marks_.clear();
  dropped_ = 0;
}

void OpenBatch::Swap(OpenBatch& other) noexcept {
  marks_.swap(other.marks_);
  std::swap(first_, other.first_);
  std::swap(dropped_, other.dropped_);
  std::swap(log_begin_, other.log_begin_);
  std::swap(log_end_, other.log_end_);
  copied_.Swap(other.copied_);
  closed_.Swap(other.closed_);
}

}  // namespace wq
