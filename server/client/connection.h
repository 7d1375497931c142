// Connection: a gRPC channel to the server of a store, over the store's socket. It connects anew
// when the server has ended since the last call.
//
// Threading: thread-safe. A crash of the server: a running call returns IOError, and its effect is
// unknown.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>
#include <tuple>

#include "base/files.h"
#include "base/mutex.h"
#include "server/net/socket.h"
#include "wq/status.h"
#include "wq/v1/admin.grpc.pb.h"
#include "wq/v1/browse.grpc.pb.h"
#include "wq/v1/queue.grpc.pb.h"

namespace wq {

class Connection {
 public:
  Connection(SocketFile file, std::chrono::milliseconds timeout)
      : file_(std::move(file)), timeout_(timeout) {}

  // NotFound: no process serves the socket. Blocks: as ConnectToFile.
  Status Channel(std::shared_ptr<grpc::Channel>* channel) const WQ_EXCLUDES(mu_);

  // Makes a unary call: Call<v1::Queue>(&v1::Queue::Stub::Add, request, &response).
  template <typename Service, typename Request, typename Response>
  Status Call(grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                    Response*),
              const Request& request, Response* response) const {
    std::shared_ptr<const Stubs> stubs;
    if (Status s = GetStubs(&stubs); !s.ok()) {
      return s;
    }
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout_);
    AddPid(&context);
    const auto& stub = std::get<std::unique_ptr<typename Service::Stub>>(*stubs);
    return FromGrpc((stub.get()->*method)(&context, request, response), context);
  }
  // Says which process calls: gRPC does not pass on what a unix socket knows.
  static void AddPid(grpc::ClientContext* context);
  // The outcome of a call that has ended.
  Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context) const;

 private:
  // Made once for each channel: a new stub registers all methods of its service, which takes 6 us
  // of a call's 80.
  using Stubs = std::tuple<std::unique_ptr<v1::Queue::Stub>, std::unique_ptr<v1::Admin::Stub>,
                           std::unique_ptr<v1::Browse::Stub>>;

  Status GetStubs(std::shared_ptr<const Stubs>* stubs) const WQ_EXCLUDES(mu_);
  // Makes channel_ and stubs_, unless they are connected.
  Status EnsureConnected() const WQ_REQUIRES(mu_);

  const SocketFile file_;
  const std::chrono::milliseconds timeout_;
  mutable Mutex mu_;
  mutable std::shared_ptr<grpc::Channel> channel_ WQ_GUARDED_BY(mu_);
  mutable std::shared_ptr<const Stubs> stubs_ WQ_GUARDED_BY(mu_);
  // The channel's socket: gRPC does not say whether the other side has closed it.
  mutable FileDescriptor socket_ WQ_GUARDED_BY(mu_){-1};
};

}  // namespace wq
