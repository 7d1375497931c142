#include "engine/delay_heap.h"

#include "storage/check.h"

namespace wq {
namespace {

constexpr size_t kSmallHeap = 4096;  // Not worth a look.

bool Before(const DelayEntry* a, const DelayEntry* b) {
  return a->due_us != b->due_us ? a->due_us < b->due_us : a->item->key() < b->item->key();
}

}  // namespace

void DelayHeap::Push(DelayEntry* entry) {
  entries_.push_back(entry);
  SiftUp(entry, entries_.size() - 1);
}

void DelayHeap::Remove(DelayEntry* entry) {
  const size_t index = entry->heap_index;
  WQ_CHECK(index < entries_.size() && entries_[index] == entry, "a delayed entry out of place");
  DelayEntry* last = entries_.back();
  entries_.pop_back();
  if (entries_.capacity() > kSmallHeap && entries_.size() < entries_.capacity() / 16) {
    entries_.shrink_to_fit();
  }
  if (last == entry) {
    return;
  }
  // The last one fills the gap; its new place may be wrong in either direction.
  if (index > 0 && Before(last, entries_[(index - 1) / 2])) {
    SiftUp(last, index);
  } else {
    SiftDown(last, index);
  }
}

void DelayHeap::Place(DelayEntry* entry, size_t index) {
  entries_[index] = entry;
  entry->heap_index = index;
}

void DelayHeap::SiftUp(DelayEntry* entry, size_t index) {
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!Before(entry, entries_[parent])) {
      break;
    }
    Place(entries_[parent], index);
    index = parent;
  }
  Place(entry, index);
}

void DelayHeap::SiftDown(DelayEntry* entry, size_t index) {
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= entries_.size()) {
      break;
    }
    if (child + 1 < entries_.size() && Before(entries_[child + 1], entries_[child])) {
      ++child;
    }
    if (!Before(entries_[child], entry)) {
      break;
    }
    Place(entries_[child], index);
    index = child;
  }
  Place(entry, index);
}

}  // namespace wq
