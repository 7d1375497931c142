// Repeats: finds repeated values among very many, in 8 bytes for each.
//
//   Repeats repeats;
//   for (value : all) repeats.Add(HashOf(value));
//   repeats.Sort();
//   if (repeats.Has(HashOf(other))) …              // `other` may have been added.
//   for (hash : std::move(repeats).Take()) …       // Hashes of values that may be repeated.
//
// Values of equal hashes may differ: the caller compares those few. Memory: up to twice as much
// while it grows. Thread-compatible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace wq {

class Repeats {
 public:
  void Add(uint64_t hash) { hashes_.push_back(hash); }
  void Sort() { std::sort(hashes_.begin(), hashes_.end()); }

  // REQUIRES: sorted since the last Add.
  bool Has(uint64_t hash) const { return std::binary_search(hashes_.begin(), hashes_.end(), hash); }

  // The hashes that were added more than once, each once, sorted. REQUIRES: as Has.
  std::vector<uint64_t> Take() && {
    auto kept = hashes_.begin();
    for (auto it = hashes_.begin(); it != hashes_.end();) {
      const uint64_t hash = *it;
      const auto end = std::find_if(it, hashes_.end(), [hash](uint64_t h) { return h != hash; });
      if (end - it > 1) *kept++ = hash;
      it = end;
    }
    hashes_.erase(kept, hashes_.end());
    return std::move(hashes_);
  }

 private:
  std::vector<uint64_t> hashes_;
};

}  // namespace wq
