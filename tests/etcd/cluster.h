// EtcdCluster: members of etcd for a test, on free ports of 127.0.0.1, with their data in a
// temporary directory. A member that is killed keeps its ports: no other process can get them.
//
//   EtcdCluster etcd({.members = 3});
//   std::shared_ptr<ReplicatedLog> log;
//   ASSERT_TRUE(OpenEtcdLog(etcd.Options("/wq/test"), &log).ok());
//   etcd.Kill(0);
//   etcd.Start(0);
//
// It needs the programs etcd, and openssl for certificates. If one is missing, or a member does not
// start, the process ends with a message: a test without etcd would show nothing. An etcd that runs
// as a service on this machine is not touched.
//
// Threading: thread-compatible; the thread that starts members has to outlive them. Blocks: the
// constructor and Start, until the members answer. Lifetime: the members end, and the directory is
// deleted, with the object; the members also end if this process is killed. A crash: of the
// process leaves the directory behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "tests/support/environment.h"
#include "wq/etcd_log.h"

namespace wq {

struct EtcdClusterOptions {
  size_t members = 1;
  bool tls = false;  // Clients need a certificate, too.
  // Set: clients authenticate as "root" with this password, and as "user", with the password
  // "user's", who may use the keys below "/wq/" only.
  std::string root_password = {};
  uint64_t quota_bytes = 0;  // 0: etcd's default.
};

class EtcdCluster {
 public:
  explicit EtcdCluster(EtcdClusterOptions options = {});
  ~EtcdCluster();
  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;

  // All endpoints, and certificates and user if the cluster has them.
  EtcdOptions Options(std::string prefix) const;
  const std::string& endpoint(size_t member) const { return members_[member].endpoint; }
  size_t size() const { return members_.size(); }
  const std::string& directory() const { return directory_.path(); }  // For a test's own files.

  void Kill(size_t member);      // SIGKILL. Waits for its end.
  void Stop(size_t member);      // SIGSTOP.
  void Continue(size_t member);  // SIGCONT.
  // After Kill: starts it with the data that it has, and waits until the cluster works.
  void Start(size_t member);
  void Launch(size_t member);  // As Start, but does not wait.
  // Waits until the cluster answers a read and has a leader.
  void WaitUntilHealthy();
  // The member that leads; size() if none answers that it does.
  size_t Leader() const;

  // Makes a certificate in directory(): NAME.pem and NAME.key, signed by the CA `ca`.
  void MakeCertificate(std::string_view name, std::string_view ca = "ca");
  // Makes a CA in directory(): NAME.pem and NAME.key.
  void MakeAuthority(std::string_view name);
  // Runs etcdctl with the input, and waits. REQUIRES: no TLS, no users.
  void Ctl(const std::string& words, const std::string& input = {}) const;
  // Changes keys as another program.
  void Put(const std::string& key, const std::string& value) const {
    Ctl("put " + key + (value.empty() ? " ''" : ""), value);
  }
  void Delete(const std::string& key) const { Ctl("del " + key); }
  void Compact() const;  // Deletes the history.

 private:
  struct Member {
    std::string endpoint;
    int peer_port = 0;
    FileDescriptor held_ports[2] = {FileDescriptor(-1), FileDescriptor(-1)};
    pid_t pid = 0;  // 0: it does not run.
  };

  void MakeUsers() const;

  const EtcdClusterOptions options_;
  const support::ScratchDirectory directory_;
  std::vector<Member> members_;
};

}  // namespace wq
