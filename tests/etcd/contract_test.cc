// EtcdLog keeps the contract of a log: see replication/log_contract.h. One member serves all of a
// process's tests, each with a prefix of its own.

#include <memory>
#include <string>

#include "tests/etcd/cluster.h"
#include "tests/replication/log_contract.h"
#include "wq/etcd_log.h"

namespace wq::replication {
namespace {

std::shared_ptr<ReplicatedLog> NewLog() {
  static const EtcdCluster cluster;
  static int logs = 0;
  std::shared_ptr<ReplicatedLog> log;
  const Status s = OpenEtcdLog(cluster.Options("/wq/contract-" + std::to_string(++logs)), &log);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return log;
}

INSTANTIATE_TEST_SUITE_P(Etcd, ReplicatedLogContract,
                         testing::Values(LogSubject{.name = "Etcd", .make = NewLog}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wq::replication
