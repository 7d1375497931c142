#include "server/rpc/rpc_server.h"

#include <fcntl.h>
#include <grpcpp/resource_quota.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace wq {
namespace {

constexpr int kMaxStreamsPerConnection = 1024;
constexpr size_t kMemoryBytes = size_t{256} << 20;  // Of gRPC's buffers, of all connections.
constexpr int kAcceptedAhead = 32;  // Calls that arrive at once without waiting in gRPC.

void SetOptions(const RpcServer::Options& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(
      static_cast<int>(std::min<size_t>(options.max_message_bytes, INT_MAX)));
  grpc::ResourceQuota quota("wq");
  quota.Resize(kMemoryBytes);
  builder->SetResourceQuota(quota);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  // Clients may send a ping each 10 s, also without a call; half of that is tolerated.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
  // Pings that measure the bandwidth cost more than they gain on one machine. Without them the
  // window of a stream is constant.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

}  // namespace

RpcServer::RpcServer(Options options)
    : host_(*options.methods, options.guard, options.accepted, options.max_waiting_calls,
            options.max_waiting_bytes),
      options_(std::move(options)) {}

RpcServer::~RpcServer() { Close(std::chrono::milliseconds(0)); }

Status RpcServer::Open(Options options, std::unique_ptr<RpcServer>* server) {
  std::unique_ptr<RpcServer> made(new RpcServer(std::move(options)));
  Status s = made->Start();
  if (s.ok()) {
    *server = std::move(made);
  }
  return s;
}

Status RpcServer::Start() {
  grpc::ServerBuilder builder;
  SetOptions(options_, &builder);
  builder.RegisterAsyncGenericService(&host_.service);
  constexpr auto kFromFd = grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD;
  {
    const MutexLock lock(mu_);
    plaintext_ = builder.experimental().AddExternalConnectionAcceptor(
        kFromFd, grpc::InsecureServerCredentials());
    if (options_.tls != nullptr) {
      tls_ = builder.experimental().AddExternalConnectionAcceptor(kFromFd, options_.tls);
    }
  }
  host_.queue = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    host_.queue->Shutdown();
    host_.Serve();
    return Status::IOError("gRPC did not start a server");
  }
  for (int i = 0; i < kAcceptedAhead; ++i) {
    Call::Accept(&host_);
  }
  try {
    for (int i = 0; i < options_.threads; ++i) {
      threads_.emplace_back([this] { host_.Serve(); });
    }
  } catch (const std::system_error& e) {
    Close(std::chrono::milliseconds(0));
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  return Status::Ok();
}

void RpcServer::Handle(int fd, bool tls) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // Fails for a unix socket.
  const MutexLock lock(mu_);
  const Acceptor& acceptor = tls ? tls_ : plaintext_;
  WQ_CHECK(acceptor != nullptr, "TLS without Options::tls");
  if (closing_) {
    close(fd);
    return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  acceptor->HandleNewConnection(&connection);
}

void RpcServer::Close(std::chrono::milliseconds grace) {
  std::call_once(closed_, [&] {
    {
      const MutexLock lock(mu_);
      closing_ = true;
    }
    if (server_ == nullptr) {
      return;
    }
    host_.EndStreams();
    host_.WaitForCalls(std::chrono::steady_clock::now() + grace);
    // A deadline of its own would also wait for idle clients to answer a ping.
    server_->Shutdown(std::chrono::system_clock::now());
    host_.WaitForCalls();  // They use the queue.
    host_.queue->Shutdown();
    if (threads_.empty()) {  // None could be started.
      host_.Serve();
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
  });
}

}  // namespace wq
