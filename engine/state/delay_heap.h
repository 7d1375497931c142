// DelayHeap: the delayed entries of one queue, the earliest due first. Thread-compatible.
//
//   delays.Push(item->delay.get());
//   while (DelayEntry* entry = delays.Due(now_us)) Fire(entry->item);   // … which removes it
//
// A heap of borrowed pointers; each entry knows its place, so that any of them can be taken out.
// Entries due at the same microsecond come out by key, the order in which the disk has them too.
//
// A node has four children, and the times stand in the heap itself: the children of a node are next to
// each other, and no entry is looked at but to break a tie. When very many are due at once, they leave
// the heap together: see DueRun.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/state/due_run.h"
#include "engine/state/item.h"

namespace wq {

class DelayHeap {
 public:
  bool empty() const { return entries_.empty() && run_.empty(); }
  size_t size() const { return entries_.size() + run_.size(); }
  int64_t NextDueUs() const { return First().due_us; }  // REQUIRES: not empty.
  // The first one, if it is due at `now_us`; otherwise nullptr.
  DelayEntry* Due(int64_t now_us);

  size_t capacity() const { return entries_.capacity(); }

  // O(log n). REQUIRES: what orders it does not change until it is removed.
  void Push(DelayEntry* entry);
  // O(log n). REQUIRES: it is held.
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
  size_t in_a_row_ = 0;             // How many were due since none was.
};

}  // namespace wq
