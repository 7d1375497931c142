// Registry: which handles of the C interface are alive, and their objects.
//
//   const uint64_t handle = registry.Insert(Kind::kQueue, object);
//   if (void* object = registry.Pin(Kind::kQueue, handle)) { …; registry.Unpin(handle); }
//   if (void* object = registry.Retire(Kind::kQueue, handle)) {  // No Pin succeeds any more
//     registry.WaitUnpinned(handle);                             // and none is left.
//     delete object; registry.Release(handle);
//   }
//
// A handle is 8 bits of kind, 32 of generation, 24 of a slot's index. A slot's word has the same
// layout, but the number of its pins in the low 24 bits, and the kind 0 while the slot is free. So
// Pin is one atomic addition and one comparison, and a handle that was freed, or is of another
// kind, never matches.
// Threading: thread-safe. Lifetime: never destroyed, since threads of the caller may outlive main.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"

namespace wq::c {

enum class Kind : uint8_t { kNone = 0, kStore = 1, kQueue = 2, kWorker = 3, kSource = 4 };
const char* KindName(Kind kind);  // "store"

class Registry {
 public:
  static Registry& Instance();

  // Throws std::bad_alloc if all slots are in use.
  uint64_t Insert(Kind kind, void* object) WQ_EXCLUDES(mu_);

  // Pins the object and returns it; nullptr if the handle is of another kind, or was retired.
  void* Pin(Kind kind, uint64_t handle) {
    Slot* const slot = Find(handle);
    if (slot == nullptr || KindOf(handle) != kind) {
      return nullptr;
    }
    const uint64_t before = slot->word.fetch_add(1, std::memory_order_acquire);
    if ((before ^ handle) >> kIndexBits != 0) {
      Unpin(handle);
      return nullptr;
    }
    return slot->object;
  }
  void Unpin(uint64_t handle) {
    Slot* const slot = Find(handle);
    const uint64_t before = slot->word.fetch_sub(1, std::memory_order_release);
    if ((before ^ handle) >> kIndexBits != 0) {
      slot->word.notify_all();  // Retired since it was pinned: WaitUnpinned may be waiting.
    }
  }

  // Makes every later Pin fail, and returns the object; nullptr if the handle is of another kind,
  // or was retired before.
  void* Retire(Kind kind, uint64_t handle);
  // The same, but nullptr while the object is pinned; *busy is true in that case only.
  void* RetireIdle(Kind kind, uint64_t handle, bool* busy);
  // Blocks: until no pin is left. REQUIRES: retired.
  void WaitUnpinned(uint64_t handle);
  // Makes the slot free for another object. REQUIRES: retired, and not pinned.
  void Release(uint64_t handle) WQ_EXCLUDES(mu_);

 private:
  static constexpr unsigned kIndexBits = 24;
  static constexpr unsigned kGenerationBits = 32;
  static constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
  static constexpr uint64_t kKindMask = uint64_t{0xff} << (kIndexBits + kGenerationBits);
  static constexpr size_t kChunk = 1024;

  struct alignas(64) Slot {
    std::atomic<uint64_t> word{0};
    void* object = nullptr;  // Constant from Insert to Release.
  };

  static Kind KindOf(uint64_t handle) {
    return static_cast<Kind>(handle >> (kIndexBits + kGenerationBits));
  }
  Slot* Find(uint64_t handle) const {
    const size_t index = handle & kIndexMask;
    Slot* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + index % kChunk;
  }

  std::array<std::atomic<Slot*>, (size_t{1} << kIndexBits) / kChunk> chunks_{};  // Never freed.
  Mutex mu_;
  size_t used_ WQ_GUARDED_BY(mu_) = 0;           // Slots that were ever in use.
  std::vector<size_t> free_ WQ_GUARDED_BY(mu_);  // Of them, those that are free.
};

// Inserts the object, which belongs to the registry from then on. T has a constant kKind. On an
// exception the object stays the caller's.
template <typename T>
uint64_t Register(std::unique_ptr<T>& object) {
  const uint64_t handle = Registry::Instance().Insert(T::kKind, object.get());
  static_cast<void>(object.release());
  return handle;
}

// Retires and releases the handle, and returns its object. Null: no such handle. Blocks: until no
// pin is left.
template <typename T>
std::unique_ptr<T> RetireAndWait(uint64_t handle) {
  Registry& registry = Registry::Instance();
  std::unique_ptr<T> object(static_cast<T*>(registry.Retire(T::kKind, handle)));
  if (object != nullptr) {
    registry.WaitUnpinned(handle);
    registry.Release(handle);
  }
  return object;
}

}  // namespace wq::c
