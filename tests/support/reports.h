// ReadReports: the Life of a child that reports each call by a line "b" when it begins and a line
// "a RESULT", packed (draw.h), when it has returned (tests/crash/child.cc).
#pragma once

#include <string>

#include "tests/support/draw.h"
#include "tests/support/oracle.h"
#include "tests/support/store_calls.h"

namespace wq::support {

// The child drew its calls from a source like `source`. All other lines are ignored.
inline Life ReadReports(const std::string& reports, StoreSource source) {
  Life life;
  for (size_t at = 0, end = 0; (end = reports.find('\n', at)) != std::string::npos; at = end + 1) {
    if (reports[at] == 'b') {
      life.calls.push_back(source.Next());
    } else if (reports[at] == 'a') {
      life.results.push_back(Unpacked(reports.substr(at + 2, end - at - 2)));
    }
  }
  return life;
}

}  // namespace wq::support
