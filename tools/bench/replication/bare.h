// BareEtcd: what etcd takes without wq: guarded transactions, one in flight, by the same client.
//
//   BareEtcd bare(members, "/wqbench/1");
//   bare.Put(blob);
//
// A transaction puts one new key, if the leader key's create_revision is as it was. A failure ends
// the process. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/etcd/client.h"
#include "storage/etcd/keys.h"
#include "tools/bench/replication/members.h"

namespace wq::bench {

class BareEtcd {
 public:
  BareEtcd(const EtcdMembers& members, const std::string& prefix);
  ~BareEtcd();  // Deletes its keys.
  BareEtcd(const BareEtcd&) = delete;
  BareEtcd& operator=(const BareEtcd&) = delete;

  void Put(std::string_view value);
  // How many values were put, as etcd counts them.
  size_t Count() const;

 private:
  const EtcdMembers& members_;
  const etcd::Keys keys_;
  std::shared_ptr<etcd::Client> client_;
  int64_t epoch_ = 0;
  LogSequence next_ = 1;
};

}  // namespace wq::bench
