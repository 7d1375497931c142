#include "engine/delay_heap.h"

#include <algorithm>

#include "storage/check.h"

namespace wq {
namespace {

constexpr size_t kSmallHeap = 4096;  // Not worth a look.
constexpr size_t kChildren = 4;

size_t ParentOf(size_t index) { return (index - 1) / kChildren; }

}  // namespace

bool DelayHeap::Before(const Slot& a, const Slot& b) {
  return a.due_us != b.due_us ? a.due_us < b.due_us : a.entry->item->key() < b.entry->item->key();
}

void DelayHeap::Push(DelayEntry* entry) {
  const Slot slot{entry->due_us, entry};
  entries_.push_back(slot);
  SiftUp(slot, entries_.size() - 1);
}

void DelayHeap::Remove(DelayEntry* entry) {
  const size_t index = entry->heap_index;
  WQ_CHECK(index < entries_.size() && entries_[index].entry == entry,
           "a delayed entry out of place");
  const Slot last = entries_.back();
  entries_.pop_back();
  if (entries_.capacity() > kSmallHeap && entries_.size() < entries_.capacity() / 16) {
    entries_.shrink_to_fit();
  }
  if (last.entry == entry) {
    return;
  }
  // The last one fills the gap; its new place may be wrong in either direction.
  if (index > 0 && Before(last, entries_[ParentOf(index)])) {
    SiftUp(last, index);
  } else {
    SiftDown(last, index);
  }
}

void DelayHeap::Place(const Slot& slot, size_t index) {
  entries_[index] = slot;
  slot.entry->heap_index = index;
}

void DelayHeap::SiftUp(const Slot& slot, size_t index) {
  while (index > 0 && Before(slot, entries_[ParentOf(index)])) {
    Place(entries_[ParentOf(index)], index);
    index = ParentOf(index);
  }
  Place(slot, index);
}

void DelayHeap::SiftDown(const Slot& slot, size_t index) {
  for (;;) {
    const size_t first = kChildren * index + 1;
    if (first >= entries_.size()) {
      break;
    }
    size_t child = first;
    for (size_t i = first + 1; i < std::min(first + kChildren, entries_.size()); ++i) {
      if (Before(entries_[i], entries_[child])) {
        child = i;
      }
    }
    if (!Before(entries_[child], slot)) {
      break;
    }
    Place(entries_[child], index);
    index = child;
  }
  Place(slot, index);
}

}  // namespace wq
