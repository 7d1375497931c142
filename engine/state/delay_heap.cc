#include "engine/state/delay_heap.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace wq {
namespace {

constexpr size_t kSmallHeap = 4096;  // Heaps of this size and below neither shrink nor fill a run.
constexpr size_t kChildren = 4;
constexpr size_t kBurstShare = 32;  // After 1/32 of the heap in a row, many more may be due.

size_t ParentOf(size_t index) { return (index - 1) / kChildren; }

}  // namespace

void DelayHeap::Push(DelayEntry* entry) {
  entry->serial = next_serial_++;
  const DelaySlot slot{entry->due_us, entry};
  entries_.push_back(slot);
  SiftUp(slot, entries_.size() - 1);
}

const DelaySlot& DelayHeap::First() const {
  if (run_.empty() || (!entries_.empty() && DelaySlot::Before(entries_.front(), run_.front()))) {
    return entries_.front();
  }
  return run_.front();
}

DelayEntry* DelayHeap::Due(int64_t now_us) {
  if (empty() || NextDueUs() > now_us) {
    in_a_row_ = 0;
    return nullptr;
  }
  ++in_a_row_;
  // GatherDue reads the whole heap; that is amortised over the entries that Due returned before.
  if (run_.empty() && entries_.size() > kSmallHeap && in_a_row_ > entries_.size() / kBurstShare) {
    GatherDue(now_us);
  }
  return First().entry;
}

// Moves all entries that are due at `now_us` to the run. O(n).
void DelayHeap::GatherDue(int64_t now_us) {
  const auto due = std::partition(entries_.begin(), entries_.end(),
                                  [now_us](const DelaySlot& slot) { return slot.due_us > now_us; });
  run_.Fill(std::vector<DelaySlot>(due, entries_.end()));
  entries_.erase(due, entries_.end());
  entries_.shrink_to_fit();
  for (size_t i = entries_.size(); i-- > 0;) {
    const DelaySlot slot = entries_[i];
    SiftDown(slot, i);
  }
  in_a_row_ = 0;
}

void DelayHeap::Remove(DelayPointer entry) {
  const size_t index = entry->heap_index;
  if (index < entries_.size() && entries_[index].entry == entry.get()) {
    RemoveAt(index);
  } else {
    WQ_CHECK(!run_.empty(), "a delayed entry out of place");
    run_.Remove(std::move(entry));
  }
}

void DelayHeap::RemoveAt(size_t index) {
  const bool is_last = index + 1 == entries_.size();
  const DelaySlot last = entries_.back();
  entries_.pop_back();
  if (entries_.capacity() > kSmallHeap && entries_.size() < entries_.capacity() / 16) {
    entries_.shrink_to_fit();
  }
  if (is_last) {
    return;
  }
  // The last slot fills the gap, from where it may have to move up or down.
  if (index > 0 && DelaySlot::Before(last, entries_[ParentOf(index)])) {
    SiftUp(last, index);
  } else {
    SiftDown(last, index);
  }
}

void DelayHeap::Place(const DelaySlot& slot, size_t index) {
  entries_[index] = slot;
  slot.entry->heap_index = static_cast<uint32_t>(index);
}

void DelayHeap::SiftUp(const DelaySlot& slot, size_t index) {
  while (index > 0 && DelaySlot::Before(slot, entries_[ParentOf(index)])) {
    Place(entries_[ParentOf(index)], index);
    index = ParentOf(index);
  }
  Place(slot, index);
}

void DelayHeap::SiftDown(const DelaySlot& slot, size_t index) {
  for (;;) {
    const size_t first = kChildren * index + 1;
    if (first >= entries_.size()) {
      break;
    }
    size_t child = first;
    for (size_t i = first + 1; i < std::min(first + kChildren, entries_.size()); ++i) {
      if (DelaySlot::Before(entries_[i], entries_[child])) {
        child = i;
      }
    }
    if (!DelaySlot::Before(entries_[child], slot)) {
      break;
    }
    Place(entries_[child], index);
    index = child;
  }
  Place(slot, index);
}

}  // namespace wq
