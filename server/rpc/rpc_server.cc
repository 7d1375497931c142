#include "server/rpc/rpc_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "server/rpc/call.h"

namespace wq {
namespace {

constexpr int kMaxStreamsPerConnection = 1024;
constexpr int kAcceptedAhead = 32;  // Calls that arrive at once without waiting in gRPC.

using Acceptor = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

void SetOptions(const RpcServer::Options& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  grpc::ResourceQuota quota("wq");
  quota.Resize(options.max_memory_bytes);
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

class RpcServer::Impl {
 public:
  explicit Impl(Options options)
      : host_(*options.methods, options.guard, options.accepted, options.max_waiting_calls,
              options.max_waiting_bytes),
        options_(std::move(options)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status Start();
  void Handle(int fd, bool tls) WQ_EXCLUDES(mu_);
  void Close(std::chrono::milliseconds grace);

 private:
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

Status RpcServer::Impl::Start() {
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

void RpcServer::Impl::Handle(int fd, bool tls) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // Fails for a unix socket.
  const MutexLock lock(mu_);
  const Acceptor& acceptor = tls ? tls_ : plaintext_;
  WQ_CHECK(acceptor != nullptr, "HandleTls without Options::tls");
  if (closing_) {
    close(fd);
    return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  acceptor->HandleNewConnection(&connection);
}

void RpcServer::Impl::Close(std::chrono::milliseconds grace) {
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

RpcServer::RpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RpcServer::~RpcServer() { Close(std::chrono::milliseconds(0)); }

Status RpcServer::Open(Options options, std::unique_ptr<RpcServer>* server) {
  WQ_CHECK(options.methods != nullptr, "RpcServer without methods");
  if (options.threads <= 0 || options.max_waiting_calls <= 0 || options.max_message_bytes == 0 ||
      options.max_message_bytes > size_t{1} << 30 || options.max_memory_bytes == 0) {
    return Status::InvalidArgument(
        "threads, waiting calls and bytes are at least 1, and a message has at most 1 GiB");
  }
  auto impl = std::make_unique<Impl>(std::move(options));
  Status s = impl->Start();
  if (s.ok()) {
    server->reset(new RpcServer(std::move(impl)));
  }
  return s;
}

void RpcServer::HandlePlaintext(int fd) { impl_->Handle(fd, false); }

void RpcServer::HandleTls(int fd) { impl_->Handle(fd, true); }

void RpcServer::Close(std::chrono::milliseconds grace) { impl_->Close(grace); }

}  // namespace wq
