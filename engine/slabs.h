// Slabs<T>: memory for many objects of one type, allocated in blocks of 64 KiB.
//
//   Slabs<DelayEntry> slabs;
//   Slabs<DelayEntry>::Pointer entry = slabs.Make();      // as large as a plain pointer
//
// Why not malloc: a million objects that are freed in another order than they were made in cost it two
// cache misses each, and now and then a walk over all that is free (docs/performance.md). Here an
// object that goes away is the next one that is made, and a block of which nothing is left is given back.
//
// Thread-compatible; a Pointer is let go of under the same lock, and before the Slabs are. Memory only.
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

template <typename T>
class Slabs {
 public:
  struct GiveBack {
    void operator()(T* object) const { Give(object); }
  };
  using Pointer = std::unique_ptr<T, GiveBack>;

  Slabs() = default;
  ~Slabs() {
    FreeAll(roomy_);
    FreeAll(full_);
  }
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  Pointer Make() {
#ifdef WQ_NO_SLABS
    return Pointer(new T);
#endif
    if (roomy_ == nullptr) {
      Link(NewSlab(), &roomy_);
    }
    Slab* const slab = roomy_;
    void* memory = slab->free;
    if (memory != nullptr) {
      slab->free = slab->free->next;
    } else {
      memory = Places(slab) + slab->fresh++ * kObjectBytes;
    }
    if (++slab->taken == kObjects) {
      Unlink(slab, &roomy_);
      Link(slab, &full_);
    }
    return Pointer(new (memory) T);
  }

  // Leaves the object to the end of its Slabs, which is cheaper than a look at each.
  static void Leave([[maybe_unused]] Pointer object) {
#ifndef WQ_NO_SLABS
    static_cast<void>(object.release());
#endif
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  struct Free {
    Free* next;
  };
  // Near the beginning of a block; the objects follow.
  struct Slab {
    Slabs* owner;
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
  static constexpr size_t kObjectBytes = sizeof(T);
  // The heads stand in different places of their blocks, or all of them would share a few lines of the cache.
  static constexpr size_t kHeadPlaces = 32;
  static constexpr size_t kObjects =
      (kSlabBytes - (kHeadPlaces - 1) * kCacheLineBytes - sizeof(Slab)) / kObjectBytes;
  static_assert(sizeof(T) >= sizeof(Free) && alignof(T) <= alignof(Slab) && kObjects > 1);

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
    return new (HeadOf(static_cast<char*>(memory))) Slab{.owner = this};
  }

  static void Give(T* object) {
#ifdef WQ_NO_SLABS
    delete object;
    return;
#endif
    const auto address = reinterpret_cast<uintptr_t>(object);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the block is found by its alignment.
    auto* const block = reinterpret_cast<char*>(address & ~(kAlignment - 1));
    Slab* const slab = HeadOf(block);
    slab->owner->GiveTo(slab, object);
  }
  void GiveTo(Slab* slab, void* object) {
    slab->free = new (object) Free{slab->free};
    if (slab->taken-- == kObjects) {
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

  Slab* roomy_ = nullptr;  // Blocks with room.
  Slab* full_ = nullptr;   // Blocks without.
};

}  // namespace wq
