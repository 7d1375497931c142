// DueRun: delayed entries that are due, all at once, to be taken in order. Part of a DelayHeap.
//
//   run.Fill(std::move(slots));
//   while (!run.empty()) Use(run.front().entry);   // … which removes it
//
// Why: when very many are due, taking them out of a heap one by one costs more cache misses than anything else.
// They are sorted instead; piece by piece, so that no call under the queue's lock sorts them all.
// And since the next ones are known, they are brought into the cache before they are needed.
//
// Thread-compatible. An entry that is removed out of turn stays in memory until its turn comes.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/state/item.h"

namespace wq {

struct DelaySlot {
  int64_t due_us;  // entry->due_us
  DelayEntry* entry;

  // By due time, then by key. An entry that was removed has no key.
  static bool Before(const DelaySlot& a, const DelaySlot& b) {
    return a.due_us != b.due_us ? a.due_us < b.due_us : KeyOf(a) < KeyOf(b);
  }

 private:
  static std::string_view KeyOf(const DelaySlot& slot) {
    return slot.entry->item == nullptr ? std::string_view() : slot.entry->item->key();
  }
};

class DueRun {
 public:
  DueRun() = default;
  ~DueRun();
  DueRun(const DueRun&) = delete;
  DueRun& operator=(const DueRun&) = delete;

  bool empty() const { return next_ == slots_.size(); }
  size_t size() const { return slots_.size() - next_ - removed_; }
  const DelaySlot& front() const { return slots_[next_]; }  // REQUIRES: not empty.

  // REQUIRES: empty; some slots. O(their number).
  void Fill(std::vector<DelaySlot> slots);
  // Amortised O(log n). REQUIRES: it is in the run.
  void Remove(DelayPointer entry);

 private:
  void Advance();
  void SortPiece();
  void PrefetchAhead() const;

  std::vector<DelaySlot> slots_;
  size_t next_ = 0;    // The first that was not taken; not a removed one.
  size_t sorted_ = 0;  // Up to here they are in order. next_ < sorted_ unless empty.
  // Descending: what stands before one of these places comes before what stands from there on.
  std::vector<size_t> bounds_;
  size_t removed_ = 0;  // Behind next_: removed, and ours. They have no item.
};

}  // namespace wq
