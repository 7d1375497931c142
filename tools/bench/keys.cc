#include "tools/bench/keys.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "tools/bench/bench.h"

namespace wq::bench {

Keys::Keys(size_t count, uint64_t seed, size_t first) {
  constexpr size_t kNamespaces = 100;
  constexpr size_t kFirstObject = 100'000;  // So that all numbers have six digits or more.
  std::vector<uint32_t> objects(count);
  std::iota(objects.begin(), objects.end(), static_cast<uint32_t>(first));
  std::mt19937_64 random(seed);
  std::shuffle(objects.begin(), objects.end(), random);
  ends_.reserve(count);
  for (const uint32_t object : objects) {
    bytes_ += "namespace-";
    bytes_ += std::to_string(object % kNamespaces);
    bytes_ += "/object-";
    bytes_ += std::to_string(kFirstObject + object);
    Require(bytes_.size() <= UINT32_MAX, "too many keys");
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
}

}  // namespace wq::bench
