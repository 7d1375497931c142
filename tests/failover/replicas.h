// Replicas: the processes that are one store's replicas (failover_child.cc), their directories,
// and the oracle that reads their reports.
//
//   Replicas replicas(etcd.Options("/wq/test"), 3, 2000ms);
//   replicas.StartAll();
//   replicas.Signal(0, SIGKILL);
//   replicas.Reap(0);
//
// Threads: one reads the reports. Thread-compatible otherwise; the thread that starts processes has
// to outlive them. Lifetime: the processes end with the object, or if this process is killed. A
// crash: leaves the directories behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "tests/failover/oracle.h"
#include "tests/support/environment.h"
#include "wq/etcd_log.h"

namespace wq::failover {

class Replicas {
 public:
  Replicas(EtcdOptions etcd, size_t count, std::chrono::milliseconds lease);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  size_t size() const { return pids_.size(); }
  static std::string NameOf(size_t replica) {
    return std::string(1, static_cast<char>('a' + replica));
  }
  static size_t IndexOf(const std::string& name) { return static_cast<size_t>(name[0] - 'a'); }
  std::string Dir(size_t replica) const { return directory_ / NameOf(replica); }
  bool Runs(size_t replica) const { return pids_[replica] != 0; }
  Oracle& oracle() { return oracle_; }

  // Without effect if it runs.
  void Start(size_t replica);
  void StartAll();
  void Signal(size_t replica, int signal) const;
  void Stop(size_t replica);  // SIGSTOP. Waits until it is stopped.
  void Kill(size_t replica);  // SIGKILL. Waits for its end.
  // Waits for its end, at most `patience`. Returns the status of waitpid(2), or -1.
  int Reap(size_t replica, std::chrono::milliseconds patience);
  void Wipe(size_t replica) const;  // Its directory. REQUIRES: it does not run.

 private:
  void Read();

  const EtcdOptions etcd_;
  const std::chrono::milliseconds lease_;
  const support::ScratchDirectory directory_;
  Oracle oracle_;
  int read_end_ = -1;
  int write_end_ = -1;
  std::vector<pid_t> pids_;  // 0: it does not run.
  std::thread reader_;
};

}  // namespace wq::failover
