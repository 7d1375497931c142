#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace wq {

void CheckFailed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "wq: %s:%d: check failed: %s (%s)\n", file, line, message, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace wq
