// DelayHeap: the delayed entries of one queue, the earliest due on top. Thread-compatible.
//
// A heap of borrowed pointers; each entry knows its place, so that any of them can be taken out.
// Entries due at the same microsecond come out by key, the order in which the disk has them too.
//
// A node has four children, and the times stand in the heap itself: the children of a node are one line
// of the cache, and no entry is looked at but to break a tie.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/item.h"

namespace wq {

class DelayHeap {
 public:
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  DelayEntry* top() const { return entries_.front().entry; }  // REQUIRES: not empty.

  size_t capacity() const { return entries_.capacity(); }

  void Push(DelayEntry* entry);    // O(log n). REQUIRES: its due_us stays until it is removed.
  void Remove(DelayEntry* entry);  // O(log n). REQUIRES: it is held.

 private:
  struct Slot {
    int64_t due_us;  // entry->due_us
    DelayEntry* entry;
  };
  static bool Before(const Slot& a, const Slot& b);
  void Place(const Slot& slot, size_t index);
  void SiftUp(const Slot& slot, size_t index);
  void SiftDown(const Slot& slot, size_t index);

  std::vector<Slot> entries_;  // entries_[i].entry->heap_index == i
};

}  // namespace wq
