// Slabs<T>: memory for many objects of one type, allocated in blocks of 64 KiB.
//
//   Slabs<DelayEntry> slabs;
//   Slabs<DelayEntry>::Pointer entry = slabs.Make();      // as large as a plain pointer
//
// Why not malloc: a million objects that are freed in another order than they were made in cost it two
// cache misses each, and now and then a walk over all that is free (docs/performance.md). Here an
// object that goes away is the next one that is made, and a block of which nothing is left is given back.
//
// Thread-compatible; a Pointer is let go of under the same lock. It must not outlive the Slabs. Memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "storage/check.h"

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
    WQ_CHECK(full_ == 0, "an object outlives its slabs");
    while (roomy_ != nullptr) {
      WQ_CHECK(roomy_->taken == 0, "an object outlives its slabs");
      std::free(std::exchange(roomy_, roomy_->next));
    }
  }
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  Pointer Make() {
#ifdef WQ_NO_SLABS
    return Pointer(new T);
#endif
    if (roomy_ == nullptr) {
      Link(NewSlab());
    }
    Slab* const slab = roomy_;
    void* memory = slab->free;
    if (memory != nullptr) {
      slab->free = slab->free->next;
    } else {
      memory = Places(slab) + slab->fresh++ * kObjectBytes;
    }
    if (++slab->taken == kObjects) {
      Unlink(slab);
      ++full_;
    }
    return Pointer(new (memory) T);
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  struct Free {
    Free* next;
  };
  // At the beginning of a block; the objects follow.
  struct Slab {
    Slabs* owner;
    Slab* prev = nullptr;  // Links of roomy_.
    Slab* next = nullptr;
    Free* free = nullptr;  // Objects that were given back.
    size_t fresh = 0;      // Objects that were ever made.
    size_t taken = 0;      // Objects that there are.
  };
  static constexpr size_t kAlignment = size_t{64} << 10;
  static constexpr size_t kSlabBytes =
      kAlignment - 64;  // Room for malloc's own, so that they lie close.
  static constexpr size_t kObjectBytes = sizeof(T);
  static constexpr size_t kObjects = (kSlabBytes - sizeof(Slab)) / kObjectBytes;
  static_assert(sizeof(T) >= sizeof(Free) && alignof(T) <= alignof(Slab) && kObjects > 1);

  static char* Places(Slab* slab) { return reinterpret_cast<char*>(slab + 1); }

  Slab* NewSlab() {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, kSlabBytes) != 0) {
      throw std::bad_alloc();
    }
    return new (memory) Slab{.owner = this};
  }

  static void Give(T* object) {
#ifdef WQ_NO_SLABS
    delete object;
    return;
#endif
    const auto address = reinterpret_cast<uintptr_t>(object);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the block is found by its alignment.
    auto* const slab = reinterpret_cast<Slab*>(address & ~(kAlignment - 1));
    slab->owner->GiveTo(slab, object);
  }
  void GiveTo(Slab* slab, void* object) {
    slab->free = new (object) Free{slab->free};
    if (slab->taken-- == kObjects) {
      --full_;
      Link(slab);
    }
    if (slab->taken == 0 && (slab->prev != nullptr || slab->next != nullptr)) {  // One is kept.
      Unlink(slab);
      std::free(slab);
    }
  }

  void Link(Slab* slab) {
    slab->prev = nullptr;
    slab->next = roomy_;
    if (roomy_ != nullptr) {
      roomy_->prev = slab;
    }
    roomy_ = slab;
  }
  void Unlink(Slab* slab) {
    (slab->prev == nullptr ? roomy_ : slab->prev->next) = slab->next;
    if (slab->next != nullptr) {
      slab->next->prev = slab->prev;
    }
    slab->prev = nullptr;
    slab->next = nullptr;
  }

  Slab* roomy_ = nullptr;  // Blocks with room, in a list.
  size_t full_ = 0;        // Blocks without.
};

}  // namespace wq
