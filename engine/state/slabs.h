// SlabPool: memory for many objects of one size, allocated in blocks of 64 KiB. Slabs<T>: the same for a type.
//
//   Slabs<DelayEntry> slabs;
//   Slabs<DelayEntry>::Pointer entry = slabs.Make();      // as large as a plain pointer
//
// Why not malloc: a million objects that are freed in another order than they were made in cost it two
// cache misses each, and now and then a walk over all that is free (docs/performance.md). Here an
// object that goes away is the next one that is made, and a block of which nothing is left is given back.
// And what one thread has made another one gives back under the same lock, not under a lock of malloc's.
//
// Thread-compatible; memory is given back under the same lock, and before the pool goes. Memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

// Under the address sanitizer each object is malloc's: so that the use of one that is gone is seen.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define WQ_NO_SLABS 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WQ_NO_SLABS 1
#endif

namespace wq {

class SlabPool {
 public:
  // REQUIRES: a multiple of 8, of 16 at least and 4 KiB at most.
  explicit SlabPool(size_t object_bytes)
      : object_bytes_(object_bytes), objects_(kPlacesBytes / object_bytes) {}
  ~SlabPool() {
    FreeAll(roomy_);
    FreeAll(full_);
  }
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // Room for one object, aligned to 8 bytes.
  void* Take() {
#ifdef WQ_NO_SLABS
    return ::operator new(object_bytes_);
#endif
    if (roomy_ == nullptr) {
      Link(NewSlab(), &roomy_);
    }
    Slab* const slab = roomy_;
    void* memory = slab->free;
    if (memory != nullptr) {
      slab->free = slab->free->next;
    } else {
      memory = Places(slab) + slab->fresh++ * object_bytes_;
    }
    if (++slab->taken == objects_) {
      Unlink(slab, &roomy_);
      Link(slab, &full_);
    }
    return memory;
  }

  // To the pool that it was taken from.
  static void Give(void* memory) {
#ifdef WQ_NO_SLABS
    ::operator delete(memory);
    return;
#endif
    const auto address = reinterpret_cast<uintptr_t>(memory);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the block is found by its alignment.
    auto* const block = reinterpret_cast<char*>(address & ~(kAlignment - 1));
    Slab* const slab = HeadOf(block);
    slab->pool->GiveTo(slab, memory);
  }

  // Leaves it to the end of the pool, which is cheaper than giving each back.
  static void Leave([[maybe_unused]] void* memory) {
#ifdef WQ_NO_SLABS
    ::operator delete(memory);
#endif
  }

 private:
  struct Free {
    Free* next;
  };
  // Near the beginning of a block; the objects follow.
  struct Slab {
    SlabPool* pool;
    Slab* prev = nullptr;  // Links of roomy_ or full_.
    Slab* next = nullptr;
    Free* free = nullptr;  // Objects that were given back.
    size_t fresh = 0;      // Objects that were ever made.
    size_t taken = 0;      // Objects that there are.
  };
  static constexpr size_t kCacheLineBytes = 64;
  static constexpr size_t kAlignment = size_t{64} << 10;
  static constexpr size_t kSlabBytes =
      kAlignment - 64;  // Room for malloc's own, so that they lie close.
  // The heads stand in different places of their blocks, or all of them would share a few lines of the cache.
  static constexpr size_t kHeadPlaces = 32;
  static constexpr size_t kPlacesBytes =
      kSlabBytes - (kHeadPlaces - 1) * kCacheLineBytes - sizeof(Slab);

  static Slab* HeadOf(char* block) {
    const uintptr_t number = reinterpret_cast<uintptr_t>(block) / kAlignment;
    return reinterpret_cast<Slab*>(block + number % kHeadPlaces * kCacheLineBytes);
  }
  static char* BlockOf(Slab* slab) {
    const size_t at = reinterpret_cast<uintptr_t>(slab) % kAlignment;
    return reinterpret_cast<char*>(slab) - at;
  }
  static char* Places(Slab* slab) { return reinterpret_cast<char*>(slab + 1); }

  Slab* NewSlab() {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, kSlabBytes) != 0) {
      throw std::bad_alloc();
    }
    return new (HeadOf(static_cast<char*>(memory))) Slab{.pool = this};
  }

  void GiveTo(Slab* slab, void* memory) {
    slab->free = new (memory) Free{slab->free};
    if (slab->taken-- == objects_) {
      Unlink(slab, &full_);
      Link(slab, &roomy_);
    }
    if (slab->taken == 0 && (slab->prev != nullptr || slab->next != nullptr)) {  // One is kept.
      Unlink(slab, &roomy_);
      std::free(BlockOf(slab));
    }
  }

  static void Link(Slab* slab, Slab** list) {
    slab->prev = nullptr;
    slab->next = *list;
    if (*list != nullptr) {
      (*list)->prev = slab;
    }
    *list = slab;
  }
  static void Unlink(Slab* slab, Slab** list) {
    (slab->prev == nullptr ? *list : slab->prev->next) = slab->next;
    if (slab->next != nullptr) {
      slab->next->prev = slab->prev;
    }
    slab->prev = nullptr;
    slab->next = nullptr;
  }
  static void FreeAll(Slab* list) {
    while (list != nullptr) {
      std::free(BlockOf(std::exchange(list, list->next)));
    }
  }

  const size_t object_bytes_;
  const size_t objects_;   // In a block.
  Slab* roomy_ = nullptr;  // Blocks with room.
  Slab* full_ = nullptr;   // Blocks without.
};

template <typename T>
class Slabs {
 public:
  struct GiveBack {
    void operator()(T* object) const { SlabPool::Give(object); }
  };
  using Pointer = std::unique_ptr<T, GiveBack>;

  Pointer Make() { return Pointer(new (pool_.Take()) T); }

  // As SlabPool::Leave.
  static void Leave(Pointer object) { SlabPool::Leave(object.release()); }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  static_assert(sizeof(T) % 8 == 0 && sizeof(T) >= 16 && alignof(T) <= 8);

  SlabPool pool_{sizeof(T)};
};

}  // namespace wq
