// The names of the segments of a history. Internal to storage/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wq/status.h"

namespace wq::storage {

struct HistorySegment {
  uint64_t number = 0;
  std::string path;
};

std::string SegmentPath(const std::string& dir, uint64_t number);
// The segments in `dir`, the oldest first. Other files are omitted.
Status ListSegments(const std::string& dir, std::vector<HistorySegment>* segments);

}  // namespace wq::storage
