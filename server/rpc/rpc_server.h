// RpcServer: serves a MethodTable over gRPC, on connections that a caller has accepted.
//
//   std::unique_ptr<RpcServer> server;
//   Status s = RpcServer::Open({.methods = &methods}, &server);
//   …
//   server->Handle(fd, false);  // From the thread that accepts connections.
//   …
//   server->Close(std::chrono::seconds(5));
//
// The server has few threads of its own and does not wake up while no client calls. Calls that may
// wait for the disk (Method::may_wait) run on further threads, which are started when they are
// needed, those that change something (Method::changes) on threads that no reading takes.
//
// Threading: thread-safe. Lifetime: the methods outlive the server. The destructor closes it. A
// crash: the server keeps nothing.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "server/api/method.h"
#include "server/net/call_guard.h"
#include "server/rpc/call.h"
#include "wq/status.h"

namespace wq {

class RpcServer {
 public:
  struct Options {
    const MethodTable* methods = nullptr;
    size_t max_message_bytes = size_t{4} << 20;  // Of a client; longer ones are refused.
    int threads = 1;
    // Calls that wait for the disk at once, of those that change something and of those that do
    // not. Further ones wait for them, with so many bytes of messages in all; more are refused as
    // TimedOut.
    int max_waiting_calls = 64;
    size_t max_waiting_bytes = size_t{64} << 20;
    CallGuard::Asked guard = nullptr;  // Judges each call, with the metadata "authorization".
    // A call of this peer over TCP was accepted. Called by the server's threads; must not block.
    std::function<void(std::string_view peer)> accepted = nullptr;
    // For connections with TLS. nullptr: there are none.
    std::shared_ptr<grpc::ServerCredentials> tls = nullptr;
  };

  // REQUIRES: numbers that are positive. IOError: gRPC refuses, or there is no thread.
  static Status Open(Options options, std::unique_ptr<RpcServer>* server);
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // Serves the client at the other end of the connected socket `fd`, and owns `fd` from here on.
  // After Close it closes it. Does not block.
  void Handle(int fd, bool tls) WQ_EXCLUDES(mu_);

  // Ends all streams with ServerCloses(), lets running calls return for at most `grace`, cancels
  // the others, and joins the threads. Blocks: for `grace`, and until the methods that run have
  // returned. Further calls only wait until the first has returned.
  void Close(std::chrono::milliseconds grace);

 private:
  using Acceptor = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

  explicit RpcServer(Options options);
  Status Start();

  CallHost host_;
  const Options options_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;
  std::once_flag closed_;

  Mutex mu_;
  bool closing_ WQ_GUARDED_BY(mu_) = false;
  Acceptor plaintext_ WQ_GUARDED_BY(mu_);
  Acceptor tls_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
