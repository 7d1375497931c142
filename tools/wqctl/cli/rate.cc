#include "tools/wqctl/cli/rate.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "wq/options.h"

namespace wqctl {

std::optional<double> ParseHandOutRate(std::string_view text) {
  const std::string_view unit = text.substr(text.size() - std::min<size_t>(text.size(), 2));
  const double seconds = unit == "/h" ? 3600 : unit == "/m" ? 60 : 1;
  if (seconds > 1 || unit == "/s") text.remove_suffix(unit.size());
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || stop != end) return std::nullopt;
  const double rate = number / seconds;
  return rate >= wq::kMinRate && rate <= wq::kMaxRate ? std::optional(rate) : std::nullopt;
}

}  // namespace wqctl
