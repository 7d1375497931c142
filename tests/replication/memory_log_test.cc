// MemoryLog keeps the contract of a log, under the suites that stand on it.
#include "tests/support/memory_log.h"

#include <memory>

#include <gtest/gtest.h>

#include "tests/replication/log_contract.h"
#include "wq/clock.h"

namespace wq::replication {
namespace {

LogSubject OnManualClock() {
  const auto clock = std::make_shared<ManualClock>();
  return {.name = "ManualClock",
          .make = [clock] { return std::make_shared<support::MemoryLog>(clock.get()); },
          .advance = [clock](std::chrono::milliseconds by) { clock->Advance(by); }};
}

INSTANTIATE_TEST_SUITE_P(MemoryLog, ReplicatedLogContract, testing::Values(OnManualClock()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wq::replication
