// EtcdMembers: three members of etcd on loopback, with their data on the disk that is measured.
//
//   const EtcdMembers members(settings.dir);
//   std::shared_ptr<ReplicatedLog> log = members.OpenLog("/wqbench/1");
//
// They run with etcd's default settings, except --snapshot-count=1000, which bounds their memory
// (docs/replication.md). A failure ends the process. Thread-compatible; the constant functions are
// thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/bench/process.h"
#include "wq/etcd_log.h"
#include "wq/replicated_log.h"

namespace wq::bench {

class EtcdMembers {
 public:
  // Their data are in dir + "/etcd". Blocks until they have a leader. The destructor kills them.
  explicit EtcdMembers(const std::string& dir);
  ~EtcdMembers();
  EtcdMembers(const EtcdMembers&) = delete;
  EtcdMembers& operator=(const EtcdMembers&) = delete;

  EtcdOptions Options(const std::string& prefix) const;
  std::shared_ptr<ReplicatedLog> OpenLog(const std::string& prefix) const;
  // Of the largest one, as etcd reports it: with the pages that it has freed.
  size_t DatabaseBytes() const;
  // Deletes the history, so that the next subject does not pay for the last one's.
  void Compact() const;

 private:
  const std::string dir_;
  std::vector<std::string> endpoints_;
  std::vector<std::unique_ptr<Child>> members_;
};

}  // namespace wq::bench
