#include "engine/state/due_run.h"

#include <algorithm>
#include <utility>

namespace wq {
namespace {

constexpr size_t kPiece = 1024;
// How many slots ahead an entry is prefetched, and then, from the entry in the cache, its item.
constexpr size_t kEntryAhead = 24;
constexpr size_t kItemAhead = 12;
constexpr size_t kCacheLine = 64;

auto PlaceIn(std::vector<DelaySlot>& slots, size_t at) {
  return slots.begin() + static_cast<std::ptrdiff_t>(at);
}

}  // namespace

DueRun::~DueRun() {
  for (; removed_ > 0; ++next_) {
    if (slots_[next_].entry->item == nullptr) {
      DelayPointer(slots_[next_].entry).reset();
      --removed_;
    }
  }
}

void DueRun::Fill(std::vector<DelaySlot> slots) {
  slots_ = std::move(slots);
  next_ = 0;
  sorted_ = 0;
  bounds_.assign(1, slots_.size());
  SortPiece();
}

void DueRun::Remove(DelayPointer entry) {
  if (entry.get() == front().entry) {
    ++next_;
    entry.reset();
    Advance();
  } else {
    entry->item = nullptr;
    static_cast<void>(entry.release());
    ++removed_;
  }
}

// Moves next_ to the next entry that was not removed.
void DueRun::Advance() {
  for (; next_ < slots_.size(); ++next_) {
    if (next_ == sorted_) {
      SortPiece();
    }
    PrefetchAhead();
    if (slots_[next_].entry->item != nullptr) {
      return;
    }
    DelayPointer(slots_[next_].entry).reset();
    --removed_;
  }
  std::vector<DelaySlot>().swap(slots_);
  next_ = 0;
  sorted_ = 0;
}

// Partitions the slots before the nearest bound until kPiece or fewer are left, and sorts those.
void DueRun::SortPiece() {
  while (bounds_.back() - next_ > kPiece) {
    const size_t middle = next_ + (bounds_.back() - next_) / 2;
    std::nth_element(PlaceIn(slots_, next_), PlaceIn(slots_, middle),
                     PlaceIn(slots_, bounds_.back()), DelaySlot::Before);
    bounds_.push_back(middle);
  }
  sorted_ = bounds_.back();
  bounds_.pop_back();
  std::sort(PlaceIn(slots_, next_), PlaceIn(slots_, sorted_), DelaySlot::Before);
}

void DueRun::PrefetchAhead() const {
  if (next_ + kEntryAhead < slots_.size()) {
    const char* const entry = reinterpret_cast<const char*>(slots_[next_ + kEntryAhead].entry);
    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry + sizeof(DelayEntry) - 1, 1);
    const Item* const item = slots_[next_ + kItemAhead].entry->item;
    __builtin_prefetch(item, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(item) + kCacheLine, 1);
  }
}

}  // namespace wq
