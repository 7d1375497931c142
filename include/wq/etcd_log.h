// A ReplicatedLog kept by etcd, over gRPC. In the library wq::etcd, which links gRPC; wq itself
// does not.
//
//   std::shared_ptr<wq::ReplicatedLog> log;
//   wq::Status s = wq::OpenEtcdLog({.endpoints = {"10.0.0.1:2379", "10.0.0.2:2379"},
//                                   .prefix = "/wq/pod-controller"}, &log);
//
// docs/replication.md has the settings that etcd needs. Threading: thread-safe. Lifetime, a crash:
// as ReplicatedLog.
#pragma once

#include "wq/cxx20.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq {

struct EtcdOptions {
  // Each "host:port", without a scheme; at least one. Another one is tried when one fails.
  std::vector<std::string> endpoints = {};
  // All keys of the log are below prefix + "/". 1 to 512 bytes; other programs must not use it.
  std::string prefix = {};

  // TLS is used if ca_file is set. cert_file and key_file: both or none. PEM.
  std::string ca_file = {};
  std::string cert_file = {};
  std::string key_file = {};

  // Empty: etcd is used without authentication.
  std::string user = {};
  std::string password = {};

  // Bounds each request. Default: 2 s.
  std::chrono::milliseconds request_timeout{2000};

  // Has etcd drop the history of what was truncated: without it etcd's database grows until its
  // quota. It drops the history of all keys of that etcd, as `etcdctl compact` does; off, something
  // else has to. Default: on.
  bool compact = true;
};

// Connects to no endpoint yet: a log can be opened while etcd is away.
//   InvalidArgument  the options; names the field.
//   NotFound, IOError  a file of TLS cannot be read; names the file.
//   NotSupported     this build has no etcd.
Status OpenEtcdLog(const EtcdOptions& options, std::shared_ptr<ReplicatedLog>* log);

}  // namespace wq
