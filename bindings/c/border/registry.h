// Registry: which handles of the C interface are alive, and what they stand for.
//
//   const uint64_t handle = registry.Insert(Kind::kQueue, object);
//   if (void* object = registry.Pin(Kind::kQueue, handle)) { …; registry.Unpin(handle); }
//   if (void* object = registry.Retire(Kind::kQueue, handle)) {  // no Pin succeeds any more
//     registry.WaitUnpinned(handle);                   // and none is left
//     delete object; registry.Release(handle);
//   }
//
// A handle is 8 bits of kind, 32 of generation, 24 of the number of a slot. A slot's word is the same,
// with the number of its pins in the low 24 bits, and the kind 0 while it is free. So Pin is one
// atomic addition and one comparison, and a handle that was freed, or of another kind, never matches.
// Threading: thread-safe. Lifetime: for ever, also in a program that ends.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace wq::c {

enum class Kind : uint8_t {
  kNone = 0,
  kStore = 1,
  kQueue = 2,
  kWorker = 3,
  kView = 4,
  kController = 5,
  kImporter = 6,
  kDiff = 7
};
const char* KindName(Kind kind);  // "store"

class Registry {
 public:
  static Registry& Instance();

  // Throws std::bad_alloc if there is no room.
  uint64_t Insert(Kind kind, void* object);

  // The object, pinned; nullptr if the handle is not one of this kind, or was retired.
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
      slot->word.notify_all();  // Retired meanwhile: somebody may wait.
    }
  }

  // The object; nullptr if the handle is not one of this kind, or was retired before.
  void* Retire(Kind kind, uint64_t handle);
  // The same, but only if nobody has it pinned; `busy` says whether that was why not.
  void* RetireIdle(Kind kind, uint64_t handle, bool* busy);
  // Blocks: until nobody has it pinned. REQUIRES: retired.
  void WaitUnpinned(uint64_t handle);
  // Its slot may be used again. REQUIRES: retired, and not pinned.
  void Release(uint64_t handle);

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
  std::mutex mu_;
  size_t used_ = 0;           // Slots that were ever given out. Under mu_.
  std::vector<size_t> free_;  // Of them, those that are free. Under mu_.
};

}  // namespace wq::c
