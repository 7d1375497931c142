#include "engine/commit/open_batch.h"

#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace wq {

void OpenBatch::AppendLogged(Position position, const storage::MutationBatch& batch,
                             storage::LogPosition begin, const RowChange& change) {
  WQ_CHECK(all_logged(), "a batch in the log behind one that is not");
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

void OpenBatch::Append(Position position, const storage::MutationBatch& batch) {
  if (marks_.empty() && copies_.empty()) {
    first_ = position;
  }
  WQ_CHECK(first_ + marks_.size() + copies_.size() - moved_ == position,
           "a gap between two batches");
  copies_.push_back({.mutations = static_cast<uint32_t>(batch.count()), .bytes = batch.bytes()});
  copied_.Append(batch);
}

Position OpenBatch::MoveToLog(storage::ProcessLog* log) {
  for (; moved_ < copies_.size(); ++moved_) {
    const Copy& copy = copies_[moved_];
    const storage::LogPosition begin = log->end();
    if (!log->Append(copied_.mutations().substr(moved_bytes_, copy.bytes))) {
      break;
    }
    if (marks_.empty()) {
      log_begin_ = begin;
    }
    WQ_CHECK(marks_.empty() || log_end_ == begin, "a gap between two batches");
    log_end_ = log->end();
    marks_.push_back({.mutations = copy.mutations, .is_new = false, .dropped = false});
    moved_bytes_ += copy.bytes;
  }
  return marks_.empty() ? 0 : first_ + marks_.size() - 1;
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
  size_t mutations = 0;
  for (size_t i = moved_; i < copies_.size(); ++i) {
    mutations += copies_[i].mutations;
  }
  if (mutations > 0) {
    closed_.AppendEncoded(copied_.mutations().substr(moved_bytes_), mutations);
  }
  return closed_;
}

void OpenBatch::Clear() {
  copied_.Clear();
  copies_.clear();
  moved_ = 0;
  moved_bytes_ = 0;
  marks_.clear();
  dropped_ = 0;
}

void OpenBatch::FreeMemory() {
  Clear();
  std::vector<Mark>().swap(marks_);
  std::vector<Copy>().swap(copies_);
  copied_ = storage::MutationBatch();
  closed_ = storage::MutationBatch();
}

void OpenBatch::Swap(OpenBatch& other) noexcept {
  marks_.swap(other.marks_);
  std::swap(first_, other.first_);
  std::swap(dropped_, other.dropped_);
  std::swap(log_begin_, other.log_begin_);
  std::swap(log_end_, other.log_end_);
  copies_.swap(other.copies_);
  std::swap(moved_, other.moved_);
  copied_.Swap(other.copied_);
  std::swap(moved_bytes_, other.moved_bytes_);
  closed_.Swap(other.closed_);
}

}  // namespace wq
