#include "storage/history/segments.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/files.h"

namespace wq::storage {
namespace {

constexpr std::string_view kSuffix = ".log";
constexpr size_t kDigits = 8;

bool ParseName(std::string_view name, uint64_t* number) {
  if (!name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, *number);
  return error == std::errc() && stop == end && name.size() >= kDigits;
}

}  // namespace

std::string SegmentPath(const std::string& dir, uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return dir + "/" + digits + std::string(kSuffix);
}

Status ListSegments(const std::string& dir, std::vector<HistorySegment>* segments) {
  segments->clear();
  std::vector<std::string> names;
  if (Status s = ListDirectory(dir, &names); !s.ok()) return s;
  for (const std::string& name : names) {
    HistorySegment segment;
    if (ParseName(name, &segment.number)) {
      segment.path = dir + "/" + name;
      segments->push_back(std::move(segment));
    }
  }
  std::sort(segments->begin(), segments->end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return {};
}

}  // namespace wq::storage
