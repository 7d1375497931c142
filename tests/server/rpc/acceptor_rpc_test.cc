// The acceptor in front of the servers of gRPC and HTTP.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/http.h"
#include "server/http/http_api.h"
#include "server/http/http_loop.h"
#include "server/net/acceptor.h"
#include "server/rpc/rpc_server.h"
#include "tests/server/server_fixture.h"
#include "tests/support/wait.h"
#include "wq/v1/queue.grpc.pb.h"

namespace wq {
namespace {

using ::testing::HasSubstr;

class AcceptorRpcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    methods_.Add(Unary<v1::AddRequest, v1::AddResponse>(
        "wq.v1.Queue", "Add", [](const v1::AddRequest& request, v1::AddResponse* response) {
          response->set_added(static_cast<uint64_t>(request.keys_size()));
          return Status::Ok();
        }));
    AddApi(methods_, CallGuard::Client::kControlSocket, nullptr, &http_);
    ASSERT_TRUE(
        RpcServer::Open({.methods = &methods_,
                         .accepted = [this](std::string_view peer) { acceptor_->SetKnown(peer); }},
                        &rpc_)
            .ok());
    Acceptor::Options options;
    options.max_grpc = 8;  // Of one address six.
    options.newcomer_timeout = std::chrono::hours(1);
    options.grpc = [this](FileDescriptor fd) { rpc_->HandlePlaintext(fd.Release()); };
    ASSERT_TRUE(HttpLoop::Open({}, &loop_).ok());
    options.http = [this](FileDescriptor fd, ListenerKind) { loop_->Serve(std::move(fd), &http_); };
    FileDescriptor fd(-1);
    ASSERT_TRUE(OpenSocketFile(dir_.path(), "control.sock", &file_).ok());
    ASSERT_TRUE(ListenOnFile(file_, &fd).ok());
    options.listeners.push_back({std::move(fd), ListenerKind::kControl});
    fd = FileDescriptor(-1);
    addresses_ = {"unix:" + (dir_ / "control.sock")};
    for (const std::string host : {"127.0.0.1", "[::1]"}) {
      int port = 0;
      FileDescriptor tcp(-1);
      if (Status s = ListenOnTcp(host + ":0", false, &tcp, &port); s.ok()) {  // Or it has no IPv6.
        options.listeners.push_back({std::move(tcp), ListenerKind::kTcp});
        addresses_.push_back(host + ":" + std::to_string(port));
      }
    }
    ASSERT_GE(addresses_.size(), 2U);
    ASSERT_TRUE(Acceptor::Open(std::move(options), &acceptor_).ok());
  }
  void TearDown() override {
    acceptor_->Stop();
    rpc_->Close(std::chrono::seconds(5));
    acceptor_->Close();
    loop_->Close();
  }

  // A channel with a connection of its own.
  static std::shared_ptr<grpc::Channel> Channel(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }
  static uint64_t Add(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + support::kPatience);
    v1::AddRequest request;
    request.add_keys("a");
    v1::AddResponse response;
    const grpc::Status s = v1::Queue::NewStub(channel)->Add(&context, request, &response);
    EXPECT_TRUE(s.ok()) << s.error_message();
    return response.added();
  }
  void AwaitNoConnection() const {
    EXPECT_TRUE(support::Eventually([&] { return acceptor_->grpc_connections() == 0; }));
  }

  const support::ScratchDirectory dir_;
  SocketFile file_;
  MethodTable methods_;
  Http http_{{.not_found = NoSuchMethod,
              .refused = RefusedReply,
              .max_request_bytes = 100'000,
              .io_timeout = std::chrono::hours(1)}};
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<HttpLoop> loop_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<std::string> addresses_;
};

TEST_F(AcceptorRpcTest, GrpcAndHttpShareASocket) {
  for (const std::string& address : addresses_) {
    EXPECT_EQ(Add(Channel(address)), 1U);
  }
  FileDescriptor fd(-1);
  ASSERT_TRUE(ConnectToFile(file_, &fd).ok());
  const std::string body = R"({"keys": ["YQ==", "Yg=="]})";
  EXPECT_THAT(
      ServerFixture::Say(fd,
                         "POST /wq.v1.Queue/Add HTTP/1.1\r\nContent-Type: application/json\r\n"
                         "Content-Length: " +
                             std::to_string(body.size()) + "\r\n\r\n" + body),
      HasSubstr("{\"added\":\"2\","));
}

TEST_F(AcceptorRpcTest, TheEndOfAGrpcConnectionIsCounted) {
  for (const std::string& address : addresses_) {
    for (int i = 0; i < 20; ++i) {
      {
        const std::shared_ptr<grpc::Channel> first = Channel(address);
        ASSERT_EQ(Add(first), 1U);
        EXPECT_EQ(acceptor_->grpc_connections(), 1U);
        ASSERT_EQ(Add(Channel(address)), 1U);
      }
      AwaitNoConnection();
    }
  }
}

TEST_F(AcceptorRpcTest, OverTheLimitTheOldestWithoutACallEnds) {
  for (size_t i = 1; i < addresses_.size(); ++i) {
    std::shared_ptr<grpc::Channel> caller = Channel(addresses_[i]);
    ASSERT_EQ(Add(caller), 1U);
    const auto soon = std::chrono::system_clock::now() + support::kPatience;
    std::vector<std::shared_ptr<grpc::Channel>> silent;
    while (silent.size() < 6) {
      silent.push_back(Channel(addresses_[i]));
      ASSERT_TRUE(silent.back()->WaitForConnected(soon));
    }
    silent[0]->WaitForStateChange(GRPC_CHANNEL_READY, soon);
    EXPECT_EQ(silent[0]->GetState(false), GRPC_CHANNEL_IDLE) << addresses_[i];
    EXPECT_EQ(silent[1]->GetState(false), GRPC_CHANNEL_READY) << addresses_[i];
    EXPECT_EQ(caller->GetState(false), GRPC_CHANNEL_READY) << addresses_[i];
    caller.reset();
    silent.clear();
    AwaitNoConnection();
  }
}

TEST_F(AcceptorRpcTest, AConnectionThatBreaksHttp2IsCounted) {
  for (int i = 0; i < 20; ++i) {
    FileDescriptor fd(-1);
    ASSERT_TRUE(ConnectToFile(file_, &fd).ok());
    SendAll(fd.get(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(100, '\xff'),
            ServerFixture::Soon());
    ServerFixture::ReadAll(fd.get());
  }
  AwaitNoConnection();
}

}  // namespace
}  // namespace wq
