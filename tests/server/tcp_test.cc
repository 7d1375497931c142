// The services over TCP, by gRPC and by HTTP/JSON: who may call, with tokens and with TLS; and what
// clients with a token, with a wrong one, and without one leave behind.
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/server/server_fixture.h"
#include "wq/v1/queue.grpc.pb.h"
#include "wq/v1/work.grpc.pb.h"

namespace wq {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kAddA = R"({"queue": "pods", "keys": ["YQ=="]})";

class TcpTest : public testing::Test, public ServerFixture {
 protected:
  // Collects the lines of `log`.
  std::function<void(const std::string&)> Into(std::vector<std::string>* log) {
    return [this, log](const std::string& line) {
      const MutexLock lock(mu_);
      log->push_back(line);
    };
  }
  std::string PostTcp(const std::string& call, const std::string& authorization,
                      const std::string& json, const std::string& host = "localhost") const {
    return Say(
        ConnectTcp(server_->port()),
        PostOf("/wq.v1." + call, json,
               "Host: " + host + "\r\n" +
                   (authorization.empty() ? "" : "Authorization: " + authorization + "\r\n")));
  }
  std::shared_ptr<grpc::Channel> Channel(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials =
          grpc::InsecureChannelCredentials()) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetSslTargetNameOverride("localhost");
    return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()), credentials,
                                     arguments);
  }
  static grpc::StatusCode Call(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& authorization = "", bool changes = false) {
    grpc::ClientContext context;
    if (!authorization.empty()) {
      context.AddMetadata("authorization", authorization);
    }
    v1::AddRequest add;
    add.set_queue("pods");
    add.add_keys("a");
    v1::CountsRequest counts;
    counts.set_queue("pods");
    v1::AddResponse added;
    v1::QueueCounts counted;
    const auto stub = v1::Queue::NewStub(channel);
    return (changes ? stub->Add(&context, add, &added) : stub->Counts(&context, counts, &counted))
        .error_code();
  }

  Mutex mu_;
};

TEST_F(TcpTest, EachTokenMayDoWhatItIsForAndWrongOnesAreCounted) {
  EXPECT_EQ(Server::Open(store_.get(), {.address = "0.0.0.0:0"}, &server_).code(),
            StatusCode::kInvalidArgument);
  std::vector<std::string> lines;
  std::vector<std::string> warnings;
  Serve({.control_socket = true,
         .address = "0.0.0.0:0",
         .token_file = Secret("operator", "operator"),
         .viewer_token_file = Secret("viewer", "viewer"),
         .log_change = Into(&lines),
         .warn = Into(&warnings),
         .metrics = [] { return std::string(); }});
  struct Case {
    const char* authorization;
    bool may_read;
    bool may_change;
  };
  const auto channel = Channel();
  for (const Case& c :
       {Case{"", false, false}, Case{"Bearer", false, false}, Case{"Bearer operato", false, false},
        Case{"Bearer operator2", false, false}, Case{"Bearer viewer", true, false},
        Case{"Bearer operator", true, true}}) {
    const auto denied = c.may_read ? grpc::PERMISSION_DENIED : grpc::UNAUTHENTICATED;
    EXPECT_EQ(Call(channel, c.authorization), c.may_read ? grpc::OK : denied) << c.authorization;
    EXPECT_EQ(Call(channel, c.authorization, true), c.may_change ? grpc::OK : denied);
    // Whatever the Host says: it is no loopback address alone.
    const std::string counts =
        PostTcp("Queue/Counts", c.authorization, R"({"queue": "pods"})", "pods.example");
    EXPECT_EQ(StatusOf(counts), c.may_read ? 200 : 401) << c.authorization;
    EXPECT_EQ(StatusOf(PostTcp("Queue/Add", c.authorization, kAddA, "pods.example")),
              c.may_change ? 200
              : c.may_read ? 403
                           : 401);
    if (!c.may_read) {
      EXPECT_THAT(counts, HasSubstr("{\"code\":\"Unauthenticated\",\"message\":"));
    }
  }
  EXPECT_EQ(StatusOf(Post("/wq.v1.Queue/Add", R"({"queue": "nope", "keys": ["YQ=="]})")), 404);
  grpc::ClientContext context;
  const auto stub = v1::Work::NewStub(channel);
  const auto stream = stub->Work(&context);
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAUTHENTICATED);
  const auto code = context.GetServerTrailingMetadata().find("wq-code");
  ASSERT_NE(code, context.GetServerTrailingMetadata().end());
  EXPECT_EQ(std::string(code->second.data(), code->second.size()), "Unauthenticated");
  EXPECT_THAT(Say(ConnectUnix(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr("\nwq_server_wrong_tokens_total 12\n"));
  const MutexLock lock(mu_);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("ipv4:127.0.0.1")));
  EXPECT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("Queue.Add of ipv4:127.0.0.1:"),
                                    HasSubstr(" (operator, token " + dir_ / "operator" + "): "),
                                    HasSubstr(R"(queue: "pods" keys: "a": Ok)")))
                         .Times(2));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("Queue.Add of unix:"), HasSubstr(" (operator): "),
                                    HasSubstr(R"(keys: "a": NotFound: )"))));
}

TEST_F(TcpTest, WithoutATokenWebPagesAreKeptOut) {
  Serve({.address = "127.0.0.1:0"});
  EXPECT_EQ(Call(Channel(), "", true), grpc::OK);
  EXPECT_EQ(StatusOf(PostTcp("Queue/Add", "", kAddA)), 200);
  EXPECT_EQ(pods_->Len(), 1U);
  // A web page that resolves its own name to this machine.
  EXPECT_EQ(StatusOf(PostTcp("Queue/Add", "", kAddA, "evil.example")), 403);
  EXPECT_EQ(StatusOf(PostTcp("Queue/Add", "", kAddA, "localhost\r\nOrigin: http://evil.example")),
            403);
}

TEST_F(TcpTest, AReloadReadsTheTokensAnew) {
  Serve({.address = "127.0.0.1:0", .token_file = Secret("operator", "operator")});
  const auto status = [this](const char* token) {
    return StatusOf(PostTcp("Queue/Add", std::string("Bearer ") + token, kAddA));
  };
  Secret("operator", "another");
  EXPECT_EQ(status("operator"), 200);
  ASSERT_TRUE(server_->Reload().ok());
  EXPECT_EQ(status("operator"), 401);
  EXPECT_EQ(status("another"), 200);
}

TEST_F(TcpTest, SnapshotsAreMadeOnTheControlSocketOnly) {
  Serve({.control_socket = true, .address = "127.0.0.1:0"});
  const std::string json = R"({"directory": ")" + dir_ / "snapshots" + R"(", "name": "first"})";
  EXPECT_EQ(StatusOf(PostTcp("Admin/CreateSnapshot", "", json)), 501);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "snapshots"));
  EXPECT_THAT(Post("/wq.v1.Admin/CreateSnapshot", json), HasSubstr("snapshots/first\""));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "snapshots/first"));
}

// --- TLS ---

// With two certificates for "localhost", each of which is its own authority.
class TlsTest : public TcpTest {
 protected:
  TlsTest() {
    for (const std::string name : {"ours", "theirs"}) {
      const std::string file = dir_ / name;
      const std::string command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout " +
                                  file + ".key -out " + file +
                                  ".pem -subj /CN=localhost -addext subjectAltName=DNS:localhost";
      EXPECT_EQ(std::system((command + " 2>/dev/null").c_str()), 0);
    }
  }
  void ServeTls(const std::string& client_ca, const std::string& token_file) {
    Serve({.address = "0.0.0.0:0",
           .tls_certificate_file = dir_ / "ours.pem",
           .tls_key_file = dir_ / "ours.key",
           .tls_client_ca_file = client_ca,
           .token_file = token_file});
  }
  // `name`: of the certificate that it shows; empty: none.
  std::shared_ptr<grpc::Channel> TlsChannel(const std::string& name) const {
    return Channel(grpc::SslCredentials({Read("ours.pem"), name.empty() ? "" : Read(name + ".key"),
                                         name.empty() ? "" : Read(name + ".pem")}));
  }

 private:
  std::string Read(const std::string& file) const {
    std::ostringstream bytes;
    bytes << std::ifstream(dir_ / file).rdbuf();
    return bytes.str();
  }
};

TEST_F(TlsTest, ATokenIsNeededTooAndAClientWithoutTlsIsNotServed) {
  ServeTls("", Secret("operator", "operator"));
  EXPECT_EQ(Call(TlsChannel(""), "Bearer operator"), grpc::OK);
  EXPECT_EQ(Call(TlsChannel("")), grpc::UNAUTHENTICATED);
  EXPECT_EQ(Call(Channel()), grpc::UNAVAILABLE);
}

TEST_F(TlsTest, TheServerAcceptsClientsOfItsAuthorityOnly) {
  ServeTls(dir_ / "ours.pem", "");
  EXPECT_EQ(Call(TlsChannel("ours"), "", true), grpc::OK);
  EXPECT_EQ(Call(TlsChannel("theirs")), grpc::UNAVAILABLE);
  EXPECT_EQ(Call(TlsChannel("")), grpc::UNAVAILABLE);
}

TEST_F(TlsTest, FilesThatCannotServeAreRefusedByName) {
  const std::string damaged = dir_ / "damaged.pem";
  std::ofstream(damaged) << "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
  const std::string ours = dir_ / "ours.pem";
  const std::string key = dir_ / "ours.key";
  const struct {
    std::string certificate, key, client_ca, message;
  } cases[] = {
      {ours, dir_ / "theirs.key", "", "theirs.key is not the key of the certificate in " + ours},
      {ours, damaged, "", "damaged.pem is not the key of the certificate in " + ours},
      {damaged, key, "", "ours.key is not the key of the certificate in " + damaged},
      {ours, key, damaged, "damaged.pem has no certificate of a CA"}};
  for (const auto& c : cases) {
    const Status s = Server::Open(store_.get(),
                                  {.address = "127.0.0.1:0",
                                   .tls_certificate_file = c.certificate,
                                   .tls_key_file = c.key,
                                   .tls_client_ca_file = c.client_ca},
                                  &server_);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace wq
