// The ranges of limits on hand-outs, see QueueOptions::group_limits; and a number for the message
// that refuses it.
#pragma once

#include <charconv>
#include <string>

#include "wq/options.h"

namespace wq {

// A rate that is not a number is not in range.
inline bool InRange(const Rate& rate) {
  const bool bounds = rate.per_second >= kMinRate && rate.per_second <= kMaxRate;
  return (rate.per_second == 0 || bounds) && rate.burst >= 1 && rate.burst <= kMaxBurst;
}

// The shortest text that is read as the same number, whatever the locale of the process: "2000000",
// "0.0000001", "1e-30", "nan".
inline std::string NumberText(double number) {
  char text[32];
  // A fixed text that does not fit is long enough to be written as a power of ten.
  std::to_chars_result end = std::to_chars(text, text + 20, number, std::chars_format::fixed);
  if (end.ec != std::errc()) end = std::to_chars(text, text + sizeof text, number);
  return {text, end.ptr};
}

}  // namespace wq
