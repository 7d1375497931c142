#include "engine/controller/trace_parent.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <random>

namespace wq {
namespace {

// Not 0, which is no id.
uint64_t RandomId() {
  thread_local std::mt19937_64 random = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  uint64_t id = 0;
  while (id == 0) {
    id = random();
  }
  return id;
}

}  // namespace

std::string NewTraceParent() {
  char text[sizeof "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"];
  std::snprintf(text, sizeof text, "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-01", RandomId(),
                RandomId(), RandomId());
  return text;
}

}  // namespace wq
