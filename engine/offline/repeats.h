// Repeats: finds which of very many values come more than once, in 8 bytes for each.
//
//   Repeats repeats;
//   for (value : all) repeats.Add(HashOf(value));
//   repeats.Sort();
//   if (repeats.Has(HashOf(other))) …              // `other` may be one of them.
//   for (hash : std::move(repeats).Take()) …       // Values that may come more than once.
//
// Hashes that are equal say only that the values may be: whoever needs to know looks at those few once
// more. Memory: while it grows, up to twice as much for a moment. Thread-compatible.
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

  // Those that were added more than once: each once, and sorted. REQUIRES: as Has.
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
