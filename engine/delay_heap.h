// DelayHeap: the delayed entries of one queue, the earliest due on top. Thread-compatible.
//
// A binary heap of borrowed pointers; each entry knows its place, so that any of them can be taken
// out. Entries due at the same microsecond come out by key, the order in which the disk has them
// too.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/item.h"

namespace wq {

class DelayHeap {
 public:
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  DelayEntry* top() const { return entries_.front(); }  // REQUIRES: not empty.

  size_t capacity() const { return entries_.capacity(); }

  void Push(DelayEntry* entry);    // O(log n)
  void Remove(DelayEntry* entry);  // O(log n). REQUIRES: it is held.

 private:
  void Place(DelayEntry* entry, size_t index);
  void SiftUp(DelayEntry* entry, size_t index);
  void SiftDown(DelayEntry* entry, size_t index);

  std::vector<DelayEntry*> entries_;  // entries_[i]->heap_index == i
};

}  // namespace wq
