// Scenario replication: a store whose log three members of etcd keep, on the cores of this machine,
// beside bare etcd.

#include "tests/bench/replication/members.h"
#include "tests/bench/replication/parts.h"
#include "tests/bench/scenarios.h"

namespace wq::bench {

void Replicated(Bench& bench) {
  const EtcdMembers members(bench.settings().dir);
  MeasureReplicatedAdds(bench, members);
  MeasureLocalAdds(bench, members);
  MeasureLag(bench, members);
  MeasureTakeovers(bench, members);
  MeasureReplicatedLives(bench, members);
}

}  // namespace wq::bench
