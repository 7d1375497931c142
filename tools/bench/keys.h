// Keys: the distinct keys of a scenario, "namespace-17/object-123456", in an order that is drawn by
// a seed.
//
// They are in one buffer, so that ten million keys take little memory beside the queue. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wq::bench {

class Keys {
 public:
  // Objects `first` and the `count - 1` that follow, shuffled.
  Keys(size_t count, uint64_t seed, size_t first = 0);

  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + begin, ends_[i] - begin};
  }
  // The size of all keys together.
  size_t bytes() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

}  // namespace wq::bench
