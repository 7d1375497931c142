// Scenario replication: a store whose log three members of etcd keep, on the cores of this machine,
// beside bare etcd.

#include "tools/bench/replication/members.h"
#include "tools/bench/replication/parts.h"
#include "tools/bench/scenarios.h"

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
