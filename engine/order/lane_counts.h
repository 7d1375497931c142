// MostKeys: of many lanes those that are worth a line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "wq/queue.h"

namespace wq {

// Returns the kMaxCountedLanes lanes with the most keys, of equal ones the higher, and adds the
// keys of the others to *others. `lanes`: each once.
inline std::map<Lane, size_t> MostKeys(std::vector<std::pair<Lane, size_t>> lanes, size_t* others) {
  if (lanes.size() > kMaxCountedLanes) {
    const auto end = lanes.begin() + kMaxCountedLanes;
    std::nth_element(lanes.begin(), end, lanes.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second, a.first) > std::pair(b.second, b.first);
    });
    std::for_each(end, lanes.end(), [others](const auto& lane) { *others += lane.second; });
    lanes.erase(end, lanes.end());
  }
  return {lanes.begin(), lanes.end()};
}

}  // namespace wq
