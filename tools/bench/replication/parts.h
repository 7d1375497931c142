// The parts of the scenario replication: each measures some of its rows, on the same members.
#pragma once

#include "tools/bench/bench.h"
#include "tools/bench/replication/members.h"

namespace wq::bench {

// adds.cc: Adds by durability, and the follower's lag.
void MeasureReplicatedAdds(Bench& bench, const EtcdMembers& members);
void MeasureLocalAdds(Bench& bench, const EtcdMembers& members);
void MeasureLag(Bench& bench, const EtcdMembers& members);
// takeover.cc: the next owner, and a fresh replica.
void MeasureTakeovers(Bench& bench, const EtcdMembers& members);
// lives.cc: sizes over many lives of the same keys.
void MeasureReplicatedLives(Bench& bench, const EtcdMembers& members);

}  // namespace wq::bench
