#include "bindings/c/boundary/registry.h"

#include <new>

#include "base/mutant.h"

namespace wq::c {

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kNone:
      break;
    case Kind::kStore:
      return "store";
    case Kind::kQueue:
      return "queue";
    case Kind::kWorker:
      return "worker";
    case Kind::kSource:
      return "source";
  }
  return "nothing";
}

Registry& Registry::Instance() {
  static auto* const instance = new Registry;
  return *instance;
}

uint64_t Registry::Insert(Kind kind, void* object) {
  const MutexLock lock(mu_);
  if (free_.empty()) {
    if (used_ > kIndexMask) {
      throw std::bad_alloc();
    }
    free_.reserve(used_ + 1);  // So that Release allocates nothing.
    if (used_ % kChunk == 0) {
      chunks_[used_ / kChunk].store(new Slot[kChunk], std::memory_order_release);
    }
    free_.push_back(used_++);
  }
  const size_t index = free_.back();
  free_.pop_back();
  Slot* const slot = Find(index);
  slot->object = object;
  uint64_t before = slot->word.load(std::memory_order_relaxed);
  uint64_t after = 0;
  do {  // Keeps the pins: a Pin of a stale handle may be under way.
    const uint64_t generation = (before >> kIndexBits) + 1;
    after = (static_cast<uint64_t>(kind) << (kIndexBits + kGenerationBits)) |
            ((generation << kIndexBits) & ~kKindMask) | (before & kIndexMask);
  } while (!slot->word.compare_exchange_weak(before, after, std::memory_order_release,
                                             std::memory_order_relaxed));
  return (after & ~kIndexMask) | index;
}

void* Registry::Retire(Kind kind, uint64_t handle) {
  Slot* const slot = Find(handle);
  if (slot == nullptr || KindOf(handle) != kind) {
    return nullptr;
  }
  uint64_t before = slot->word.load(std::memory_order_relaxed);
  do {
    if ((before ^ handle) >> kIndexBits != 0 && !WQ_MUTANT(handle_is_freed_twice)) {
      return nullptr;
    }
  } while (!slot->word.compare_exchange_weak(before, before & ~kKindMask, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
  return slot->object;
}

void* Registry::RetireIdle(Kind kind, uint64_t handle, bool* busy) {
  *busy = false;
  Slot* const slot = Find(handle);
  if (slot == nullptr || KindOf(handle) != kind) {
    return nullptr;
  }
  uint64_t idle = handle & ~kIndexMask;
  if (slot->word.compare_exchange_strong(idle, idle & ~kKindMask, std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
    return slot->object;
  }
  *busy = (idle ^ handle) >> kIndexBits == 0;
  return nullptr;
}

void Registry::WaitUnpinned(uint64_t handle) {
  Slot* const slot = Find(handle);
  for (;;) {
    const uint64_t word = slot->word.load(std::memory_order_acquire);
    if ((word & kIndexMask) == 0) {
      return;
    }
    slot->word.wait(word, std::memory_order_acquire);
  }
}

void Registry::Release(uint64_t handle) {
  const MutexLock lock(mu_);
  free_.push_back(handle & kIndexMask);
}

}  // namespace wq::c
