// Scenario replication in a build without wq::etcd.

#include "tests/bench/scenarios.h"

namespace wq::bench {

void Replicated(Bench& bench) {
  bench.Say(
      "replication: not built; it needs the definitions of etcd's services (Debian: "
      "golang-etcd-server-dev)");
}

// Nothing starts these processes.
void ReplicatedFollowerChild(Bench&) {}
void ReplicatedFillChild(Bench&) {}
void ReplicatedNextChild(Bench&) {}
void ReplicatedLivesChild(Bench&) {}

}  // namespace wq::bench
