// The connections of gRPC behind the acceptor: each counts until its end, and one from which no
// call came gives way.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/server_fixture.h"
#include "tests/support/wait.h"
#include "wq/v1/queue.grpc.pb.h"

namespace wq {
namespace {

class GrpcConnectionsTest : public ::testing::Test, public ServerFixture {
 protected:
  // A channel with a connection of its own.
  static std::shared_ptr<grpc::Channel> Channel(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }
  static void Call(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + support::kPatience);
    v1::CountsRequest request;
    request.set_queue("pods");
    v1::QueueCounts response;
    const grpc::Status s = v1::Queue::NewStub(channel)->Counts(&context, request, &response);
    EXPECT_TRUE(s.ok()) << s.error_message();
  }
};

TEST_F(GrpcConnectionsTest, EachIsCountedUntilItsEnd) {
  Serve({.control_socket = true, .address = "127.0.0.1:0", .max_connections = 2});
  for (const std::string& address :
       {"unix:" + socket_path(), "127.0.0.1:" + std::to_string(server_->port())}) {
    for (int i = 0; i < 10; ++i) {
      Call(Channel(address));
    }
  }
  for (int i = 0; i < 10; ++i) {  // Also those that break HTTP/2.
    Say(ConnectUnix(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(100, '\xff'));
  }
  Call(Channel("unix:" + socket_path()));
}

TEST_F(GrpcConnectionsTest, OverTheLimitTheOldestWithoutACallEnds) {
  for (const std::string host : {"127.0.0.1", "[::1]"}) {
    const Status s = Server::Open(store_.get(),
                                  {.address = host + ":0",
                                   .max_connections = 8,  // Of one address six.
                                   .newcomer_timeout = std::chrono::hours(1)},
                                  &server_);
    if (!s.ok() && host == "[::1]") {
      continue;  // This machine has no IPv6.
    }
    ASSERT_TRUE(s.ok()) << s.ToString();
    const std::string address = host + ":" + std::to_string(server_->port());
    const std::shared_ptr<grpc::Channel> caller = Channel(address);
    Call(caller);
    const auto soon = std::chrono::system_clock::now() + support::kPatience;
    std::vector<std::shared_ptr<grpc::Channel>> silent;
    while (silent.size() < 6) {
      silent.push_back(Channel(address));
      ASSERT_TRUE(silent.back()->WaitForConnected(soon));
    }
    silent[0]->WaitForStateChange(GRPC_CHANNEL_READY, soon);
    EXPECT_EQ(silent[0]->GetState(false), GRPC_CHANNEL_IDLE) << address;
    EXPECT_EQ(silent[1]->GetState(false), GRPC_CHANNEL_READY) << address;
    EXPECT_EQ(caller->GetState(false), GRPC_CHANNEL_READY) << address;
  }
}

}  // namespace
}  // namespace wq
