// Random schedules of replicas of one store, without threads and without time.
//
// WQ_SEED picks the seed (each run prints its own), WQ_SIM_SCHEDULES how many schedules run. A
// failing run prints what replays its schedule alone.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>

#include "tests/replication/simulation.h"
#include "tests/support/environment.h"

namespace wq::replication {
namespace {

using support::FromEnvironment;

TEST(SimulationTest, ReplicasAgreeAndNothingAcknowledgedIsLost) {
  const uint64_t seed = support::Seed();
  const uint64_t schedules = FromEnvironment("WQ_SIM_SCHEDULES", 6'000);
  RecordProperty("seed", std::to_string(seed));
  std::cout << "replay with WQ_SEED=" << seed << " WQ_SIM_SCHEDULES=" << schedules << "\n";
  Simulation::Counts sum;
  for (uint64_t i = 0; i < schedules; ++i) {
    Simulation simulation(seed + i);
    simulation.Run();
    if (HasFailure()) {
      FAIL() << "schedule " << i << ": replay it alone with WQ_SEED=" << seed + i
             << " WQ_SIM_SCHEDULES=1";
    }
    const Simulation::Counts& counts = simulation.counts();
    sum.acknowledged += counts.acknowledged;
    sum.refused += counts.refused;
    sum.unknown += counts.unknown;
    sum.ownerships += counts.ownerships;
    sum.with_ahead += counts.with_ahead;
    sum.crashes += counts.crashes;
    sum.seeds += counts.seeds;
  }
  std::cout << sum.acknowledged << " writes acknowledged, " << sum.refused << " refused, "
            << sum.unknown << " of unknown outcome; " << sum.ownerships << " ownerships, "
            << sum.with_ahead << " with what was ahead; " << sum.crashes << " crashes, "
            << sum.seeds << " replicas seeded\n";
  if (schedules < 1000) return;
  EXPECT_GT(sum.acknowledged, schedules);
  EXPECT_GT(sum.refused, schedules / 100);
  EXPECT_GT(sum.unknown, schedules / 10);
  EXPECT_GT(sum.with_ahead, schedules / 100);
  EXPECT_GT(sum.seeds, schedules / 10);
}

}  // namespace
}  // namespace wq::replication
