// DueRun: delays that became due all at once, in the order of the DelayHeap that it is a part of.
//
//   run.Fill(std::move(slots));
//   while (!run.empty()) Use(run.front().entry);   // … which removes it
//
// Why: when very many delays are due, the greatest cost is the cache misses of removing them from a
// heap one by one. So they are sorted instead, piece by piece, as a call under the queue's lock
// must not sort them all. And since the next entries are known, they are prefetched.
//
// Thread-compatible. An entry that is removed before it is the first keeps its memory until the run
// reaches its slot.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/order/item.h"

namespace wq {

struct DelaySlot {
  int64_t due_us;  // entry->due_us
  DelayEntry* entry;

  // By due time, then by serial, which may wrap around between two entries.
  static bool Before(const DelaySlot& a, const DelaySlot& b) {
    return a.due_us != b.due_us ? a.due_us < b.due_us
                                : static_cast<int32_t>(a.entry->serial - b.entry->serial) < 0;
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

  // O(slots). REQUIRES: the run is empty, `slots` is not.
  void Fill(std::vector<DelaySlot> slots);
  // Amortised O(log n). REQUIRES: the entry is in the run.
  void Remove(DelayPointer entry);

 private:
  void Advance();
  void SortPiece();
  void PrefetchAhead() const;

  std::vector<DelaySlot> slots_;
  size_t next_ = 0;    // The first slot that is left; its entry is not a removed one.
  size_t sorted_ = 0;  // The slots before this index are sorted. next_ < sorted_ unless empty.
  // Indexes, descending. Every slot before a bound is ordered before every slot from it on.
  std::vector<size_t> bounds_;
  size_t removed_ = 0;  // Removed entries after next_. The run owns them; their item is null.
};

}  // namespace wq
