// DelayHeap: the delays of one queue, the earliest due time first. Thread-compatible.
//
//   delays.Push(item->delay.get());
//   while (DelayEntry* entry = delays.Due(now_us)) Fire(entry->item);   // … which removes it
//
// A heap of borrowed pointers. Each entry has its index in the heap, so any entry can be removed.
// Entries with the same due time are in the order of their Push: on disk they are ordered by key,
// so that is their order after a recovery.
//
// A node has four children, and the heap stores the due times beside the pointers: the children of
// a node are adjacent in memory, and an entry is read only to break a tie. When very many entries
// are due at once, they leave the heap together: see DueRun.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/order/item.h"
#include "engine/state/due_run.h"

namespace wq {

class DelayHeap {
 public:
  bool empty() const { return entries_.empty() && run_.empty(); }
  size_t size() const { return entries_.size() + run_.size(); }
  int64_t NextDueUs() const { return First().due_us; }  // REQUIRES: not empty.
  // The first entry if it is due at `now_us`, otherwise nullptr. Does not remove it.
  DelayEntry* Due(int64_t now_us);

  // O(log n). Sets the entry's serial. REQUIRES: the due time does not change until the entry is
  // removed.
  void Push(DelayEntry* entry);
  // O(log n). REQUIRES: the entry is in the heap.
  void Remove(DelayPointer entry);

 private:
  const DelaySlot& First() const;
  void GatherDue(int64_t now_us);
  void RemoveAt(size_t index);
  void Place(const DelaySlot& slot, size_t index);
  void SiftUp(const DelaySlot& slot, size_t index);
  void SiftDown(const DelaySlot& slot, size_t index);

  std::vector<DelaySlot> entries_;  // entries_[i].entry->heap_index == i
  DueRun run_;                      // Not in entries_.
  size_t in_a_row_ = 0;             // Entries that Due returned since it last returned none.
  uint32_t next_serial_ = 0;
};

}  // namespace wq
