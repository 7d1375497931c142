// SlabPool: memory for many objects of one size, allocated in blocks of 64 KiB.
// Slabs<T>: the same for a type.
//
//   Slabs<DelayEntry> slabs;
//   Slabs<DelayEntry>::Pointer entry = slabs.Make();      // as large as a plain pointer
//
// Why not malloc: when a million objects are freed in another order than they were made in, each
// costs two cache misses, and some frees walk all free memory (docs/performance.md). Here the last
// freed object is the next one made, and a block without objects is freed. An object that one
// thread makes and another one frees is protected by the caller's lock alone, not by one of
// malloc's.
//
// Under the address sanitizer all memory without an object is poisoned, and a poisoned gap follows
// each object, so the sanitizer reports a use after Give, a second Give and an overrun, as with
// malloc.
//
// Thread-compatible: objects are given back under the same lock, and before the pool is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

// WQ_ADDRESS_SANITIZER: this is compiled with it.
#ifdef __SANITIZE_ADDRESS__  // GCC.
#define WQ_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)  // Clang.
#define WQ_ADDRESS_SANITIZER
#endif
#endif
#ifdef WQ_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace wq {

class SlabPool {
 public:
  // REQUIRES: a multiple of 8, of 16 at least and 4 KiB at most.
  explicit SlabPool(size_t object_bytes)
      : object_bytes_(object_bytes),
        place_bytes_(object_bytes + kGapBytes),
        capacity_(kPlacesBytes / place_bytes_) {}
  // REQUIRES: each object was given back, or passed to FreeWithPool.
  ~SlabPool() {
    FreeAll(roomy_);
    FreeAll(full_);
  }
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // Memory for one object, aligned to 8 bytes.
  void* Take() {
    if (roomy_ == nullptr) {
      Link(NewSlab(), &roomy_);
    }
    Slab* const slab = roomy_;
    void* memory = slab->free;
    if (memory != nullptr) {
      Unpoison(memory, object_bytes_);
      slab->free = slab->free->next;
    } else {
      memory = Places(slab) + slab->fresh++ * place_bytes_;
      Unpoison(memory, object_bytes_);
    }
    if (++slab->taken == capacity_) {
      Unlink(slab, &roomy_);
      Link(slab, &full_);
    }
    return memory;
  }

  // Gives memory back to the pool that it was taken from.
  static void Give(void* memory) {
    Slab* const slab = SlabOf(memory);
    slab->pool->GiveTo(slab, memory);
  }

  // Ends the use of the memory, but lets the pool's destructor free it. That is cheaper than Give
  // where the pool is destroyed soon.
  static void FreeWithPool([[maybe_unused]] void* memory) {
#ifdef WQ_ADDRESS_SANITIZER
    Poison(memory, SlabOf(memory)->pool->object_bytes_);
#endif
  }

 private:
  struct Free {
    Free* next;
  };
  // The head of a block, near its beginning; the places of objects follow it.
  struct Slab {
    SlabPool* pool;
    Slab* prev = nullptr;  // Links of roomy_ or full_.
    Slab* next = nullptr;
    Free* free = nullptr;  // Places that were given back.
    size_t fresh = 0;      // Places that were ever taken. Those after them were never used.
    size_t taken = 0;      // Places that are taken now.
  };
  static constexpr size_t kCacheLineBytes = 64;
  static constexpr size_t kAlignment = size_t{64} << 10;
  // Less than kAlignment by malloc's own header, so that blocks are next to each other.
  static constexpr size_t kSlabBytes = kAlignment - 64;
  // Heads are at different offsets in their blocks. At equal ones all heads would share a few cache
  // sets.
  static constexpr size_t kHeadPlaces = 32;
  static constexpr size_t kPlacesBytes =
      kSlabBytes - (kHeadPlaces - 1) * kCacheLineBytes - sizeof(Slab);

#ifdef WQ_ADDRESS_SANITIZER
  static constexpr size_t kGapBytes = 16;
  static void Poison(void* memory, size_t bytes) { __asan_poison_memory_region(memory, bytes); }
  static void Unpoison(void* memory, size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
  static constexpr size_t kGapBytes = 0;
  static void Poison(void* /*memory*/, size_t /*bytes*/) {}
  static void Unpoison(void* /*memory*/, size_t /*bytes*/) {}
#endif

  static Slab* HeadOf(char* block) {
    const uintptr_t number = reinterpret_cast<uintptr_t>(block) / kAlignment;
    return reinterpret_cast<Slab*>(block + number % kHeadPlaces * kCacheLineBytes);
  }
  static char* BlockOf(Slab* slab) {
    const size_t at = reinterpret_cast<uintptr_t>(slab) % kAlignment;
    return reinterpret_cast<char*>(slab) - at;
  }
  static Slab* SlabOf(void* memory) {
    const auto address = reinterpret_cast<uintptr_t>(memory);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the block is found by its alignment.
    return HeadOf(reinterpret_cast<char*>(address & ~(kAlignment - 1)));
  }
  static char* Places(Slab* slab) { return reinterpret_cast<char*>(slab + 1); }

  Slab* NewSlab() {
    void* block = nullptr;
    if (posix_memalign(&block, kAlignment, kSlabBytes) != 0) {
      throw std::bad_alloc();
    }
    Slab* const slab = HeadOf(static_cast<char*>(block));
    Poison(block, kSlabBytes);
    Unpoison(slab, sizeof(Slab));
    return new (slab) Slab{.pool = this};
  }

  void GiveTo(Slab* slab, void* memory) {
    slab->free = new (memory) Free{slab->free};
    Poison(memory, object_bytes_);
    if (slab->taken-- == capacity_) {
      Unlink(slab, &full_);
      Link(slab, &roomy_);
    }
    // An empty block is kept if it is the only one with room.
    if (slab->taken == 0 && (slab->prev != nullptr || slab->next != nullptr)) {
      Unlink(slab, &roomy_);
      FreeSlab(slab);
    }
  }

  static void FreeSlab(Slab* slab) {
    char* const block = BlockOf(slab);
    Unpoison(block, kSlabBytes);
    std::free(block);
  }
  static void FreeAll(Slab* list) {
    while (list != nullptr) {
      FreeSlab(std::exchange(list, list->next));
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

  const size_t object_bytes_;
  const size_t place_bytes_;  // An object and the gap after it.
  const size_t capacity_;     // Objects in a block.
  Slab* roomy_ = nullptr;     // Blocks with room.
  Slab* full_ = nullptr;      // Blocks without.
};

template <typename T>
class Slabs {
 public:
  struct GiveBack {
    void operator()(T* object) const { SlabPool::Give(object); }
  };
  using Pointer = std::unique_ptr<T, GiveBack>;

  Pointer Make() { return Pointer(new (pool_.Take()) T); }

  // As SlabPool::FreeWithPool. The pointer may be null.
  static void FreeWithPool(Pointer object) {
    if (object != nullptr) {
      SlabPool::FreeWithPool(object.release());
    }
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  static_assert(sizeof(T) % 8 == 0 && sizeof(T) >= 16 && alignof(T) <= 8);

  SlabPool pool_{sizeof(T)};
};

}  // namespace wq
