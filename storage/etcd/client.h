// Client: etcd's requests, sent to one endpoint after another until one answers.
//
//   std::shared_ptr<Client> client;
//   Status s = Client::Open(options, &client);
//   s = client->Txn(request, client->NewDeadline(), &answer);
//
// A request goes to the endpoint that answered last. If that one cannot be reached, does not
// answer, or has no leader, the request goes to the next, and so on until the deadline: so every
// request must be one that may be made twice. An endpoint that does not answer gets half of the
// time that is left. Errors of etcd are IOError: their messages name the endpoints and say in
// plain words what is wrong.
//
// With a user, the client authenticates before the first request, and again when etcd does not know
// its token any more.
//
// Threading: thread-safe. Blocks: until the deadline. Lifetime: shared by the log and its
// followers. A crash: does not concern it.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include "storage/etcd/etcd.grpc.pb.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "wq/etcd_log.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq::etcd {

namespace pb = ::etcdserverpb;

using Deadline = std::chrono::steady_clock::time_point;

// On gRPC's monotonic clock.
gpr_timespec ForGrpc(Deadline deadline);

struct Endpoint {
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::KV::Stub> kv;
  std::unique_ptr<pb::Lease::Stub> lease;
  std::unique_ptr<pb::Watch::Stub> watch;
  std::unique_ptr<pb::Maintenance::Stub> maintenance;
  std::unique_ptr<pb::Auth::Stub> auth;
};

class Client {
 public:
  // Errors: as OpenEtcdLog.
  static Status Open(const EtcdOptions& options, std::shared_ptr<Client>* client);

  const EtcdOptions& options() const { return options_; }
  // The end of a call that begins now.
  Deadline NewDeadline() const {
    return std::chrono::steady_clock::now() + options_.request_timeout;
  }

  // Each range may be of one revision. NotFound: etcd has compacted this revision.
  Status Range(const pb::RangeRequest& request, Deadline deadline, pb::RangeResponse* answer);
  Status Txn(const pb::TxnRequest& request, Deadline deadline, pb::TxnResponse* answer);
  // Ok, too, if it is compacted already.
  Status Compact(int64_t revision, Deadline deadline);

  Status GrantLease(int64_t seconds, Deadline deadline, pb::LeaseGrantResponse* answer);
  // *seconds: how long the lease lasts; 0: it has run out.
  Status KeepLease(int64_t id, Deadline deadline, int64_t* seconds);
  // Ok, too, if the lease has run out.
  Status RevokeLease(int64_t id, Deadline deadline);

  // All endpoints at once.
  std::vector<LogMember> Members();

  // For streams, which do not use the requests above. The endpoint to use; a context gets the token
  // for it; and what has failed there. The endpoint is used no more for now.
  const Endpoint& Current() const { return endpoints_[current_]; }
  Status AddToken(const Endpoint& endpoint, Deadline deadline, grpc::ClientContext* context);
  Status StreamFailed(const Endpoint& endpoint, const grpc::Status& failure);
  // Leaves the endpoint, if it is the current one.
  void Leave(const Endpoint& endpoint);

 private:
  using Attempt = std::function<grpc::Status(const Endpoint&, grpc::ClientContext*)>;

  explicit Client(EtcdOptions options) : options_(std::move(options)) {}

  Status Call(Deadline deadline, const Attempt& attempt);
  grpc::Status Try(const Endpoint& endpoint, Deadline deadline, const Attempt& attempt);
  // The token of the user; "" without a user. Authenticates if there is none.
  grpc::Status Token(const Endpoint& endpoint, Deadline deadline, std::string* token)
      WQ_EXCLUDES(mu_);
  void ForgetToken(const std::string& token) WQ_EXCLUDES(mu_);

  const EtcdOptions options_;
  std::vector<Endpoint> endpoints_;  // Constant after Open.
  std::atomic<size_t> current_ = 0;  // Index of the endpoint that the next request goes to.

  Mutex mu_;
  std::string token_ WQ_GUARDED_BY(mu_);  // "": none yet.
};

}  // namespace wq::etcd
