// Connections: unix, TCP and TLS, and tokens. And what idle connections cost.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "server/rpc/tls.h"
#include "tests/server/rpc/rpc_fixture.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

// Accepts connections on a port of the loopback address, and passes them to the server.
class Listener {
 public:
  Listener(RpcServer* server, bool tls) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    target_ = "ipv4:127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, server, tls] {
      for (;;) {
        const int connection = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) {
          return;
        }
        tls ? server->HandleTls(connection) : server->HandlePlaintext(connection);
      }
    });
  }
  ~Listener() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  const std::string& target() const { return target_; }

 private:
  int fd_ = -1;
  std::string target_;
  std::thread thread_;
};

grpc::Status AddOnce(const std::shared_ptr<grpc::Channel>& channel,
                     const std::string& authorization = "") {
  grpc::ClientContext context;
  if (!authorization.empty()) {
    context.AddMetadata("authorization", authorization);
  }
  v1::AddRequest request;
  v1::AddResponse response;
  return v1::Queue::NewStub(channel)->Add(&context, request, &response);
}

std::shared_ptr<grpc::Channel> ConnectTo(
    const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetSslTargetNameOverride("localhost");
  return grpc::CreateCustomChannel(
      target, credentials != nullptr ? credentials : grpc::InsecureChannelCredentials(), arguments);
}

CallGuard::Answer AskForSecret(const CallGuard::Request& call) {
  if (call.client == CallGuard::Client::kControlSocket || call.authorization == "Bearer secret") {
    return {};
  }
  return {.verdict = CallGuard::Verdict::kUnknown,
          .why = Status::Unauthenticated("the token is not valid")};
}

TEST(RpcConnection, TcpClientsAreServed) {
  RpcFixture f;
  f.Open();
  const Listener listener(f.server.get(), false);
  EXPECT_TRUE(AddOnce(ConnectTo(listener.target())).ok());
  grpc::ClientContext context;
  const auto stub = v1::Work::NewStub(ConnectTo(listener.target()));
  const auto stream = stub->Work(&context);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(f.last_peer().starts_with("ipv4:127.0.0.1:")) << f.last_peer();
}

TEST(RpcConnection, TcpClientsNeedTheToken) {
  RpcFixture f;
  f.Open({.guard = AskForSecret});
  const Listener listener(f.server.get(), false);
  const auto channel = ConnectTo(listener.target());
  EXPECT_TRUE(AddOnce(channel, "Bearer secret").ok());
  for (const std::string authorization : {"", "Bearer", "Bearer secre", "Bearer secret2"}) {
    const grpc::Status status = AddOnce(channel, authorization);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << authorization;
    EXPECT_EQ(status.error_message(), "the token is not valid");
  }
  grpc::ClientContext refused;
  v1::AddResponse ignored;
  EXPECT_FALSE(v1::Queue::NewStub(channel)->Add(&refused, {}, &ignored).ok());
  const auto code = refused.GetServerTrailingMetadata().find("wq-code");
  ASSERT_NE(code, refused.GetServerTrailingMetadata().end());
  EXPECT_EQ(std::string(code->second.data(), code->second.size()), "Unauthenticated");
  grpc::ClientContext context;
  const auto stub = v1::Work::NewStub(channel);
  const auto stream = stub->Work(&context);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(f.census.opened(), 0);
}

// --- TLS ---

// Two certificates for "localhost", each of which is its own authority.
class Certificates {
 public:
  Certificates() {
    for (const std::string name : {"ours", "theirs"}) {
      const std::string file = directory_ / name;
      const std::string command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout " +
                                  file + ".key -out " + file +
                                  ".pem -subj /CN=localhost -addext subjectAltName=DNS:localhost";
      EXPECT_EQ(std::system((command + " 2>/dev/null").c_str()), 0);
    }
  }
  std::shared_ptr<grpc::ServerCredentials> Server(const std::string& client_ca) const {
    std::shared_ptr<grpc::ServerCredentials> credentials;
    const Status s =
        MakeTlsCredentials({.certificate_file = directory_ / "ours.pem",
                            .key_file = directory_ / "ours.key",
                            .client_ca_file = client_ca.empty() ? "" : directory_ / client_ca},
                           &credentials);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return credentials;
  }
  // `name`: of the certificate that it shows; empty: none.
  std::shared_ptr<grpc::ChannelCredentials> Client(const std::string& name) const {
    return grpc::SslCredentials({Read("ours.pem"), name.empty() ? "" : Read(name + ".key"),
                                 name.empty() ? "" : Read(name + ".pem")});
  }

 private:
  std::string Read(const std::string& file) const {
    std::ostringstream bytes;
    bytes << std::ifstream(directory_ / file).rdbuf();
    return bytes.str();
  }

  const support::ScratchDirectory directory_;
};

TEST(RpcTls, ATokenIsNeededTooAndAClientWithoutTlsIsNotServed) {
  const Certificates certificates;
  RpcFixture f;
  f.Open({.guard = AskForSecret, .tls = certificates.Server("")});
  const Listener listener(f.server.get(), true);
  const auto channel = ConnectTo(listener.target(), certificates.Client(""));
  EXPECT_TRUE(AddOnce(channel, "Bearer secret").ok());
  EXPECT_EQ(AddOnce(channel).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(AddOnce(ConnectTo(listener.target())).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(AddOnce(f.Connect()).ok());
}

TEST(RpcTls, TheServerAcceptsClientsOfItsAuthorityOnly) {
  const Certificates certificates;
  RpcFixture f;
  f.Open({.tls = certificates.Server("ours.pem")});
  const Listener listener(f.server.get(), true);
  for (const std::string name : {"ours", "theirs", ""}) {
    const grpc::Status status = AddOnce(ConnectTo(listener.target(), certificates.Client(name)));
    EXPECT_EQ(status.error_code(),
              name == "ours" ? grpc::StatusCode::OK : grpc::StatusCode::UNAVAILABLE)
        << name << ": " << status.error_message();
  }
}

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

void SendBytes(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) {
      return;  // The server has closed the connection.
    }
    sent += static_cast<size_t>(n);
  }
}

// --- Idle ---

std::string FileOfTask(const std::string& task, const std::string& file) {
  std::ostringstream bytes;
  bytes << std::ifstream("/proc/self/task/" + task + "/" + file).rdbuf();
  return bytes.str();
}

// How often each other thread of this process was switched to, by its id and name.
std::map<std::string, size_t> CountSwitches() {
  std::map<std::string, size_t> switches;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    const std::string id = task->d_name;
    if (id.starts_with(".") || id == std::to_string(gettid())) {
      continue;
    }
    std::istringstream status(FileOfTask(id, "status"));
    std::string line;
    while (std::getline(status, line)) {
      if (line.find("ctxt_switches:") != std::string::npos) {
        switches[id + " " + FileOfTask(id, "comm")] += std::stoul(line.substr(line.find(':') + 1));
      }
    }
  }
  closedir(tasks);
  return switches;
}

// Of the threads that were switched to in this time. gRPC 1.51 wakes each of its two threads for
// timers once a second, whatever the server does: they are left out if they keep to that.
std::map<std::string, size_t> SwitchesIn(int milliseconds) {
  const auto before = CountSwitches();
  poll(nullptr, 0, milliseconds);  // Not a wait for an event: nothing may happen.
  std::map<std::string, size_t> switches;
  for (const auto& [thread, count] : CountSwitches()) {
    const auto old = before.find(thread);
    const size_t more = count - (old == before.end() ? 0 : old->second);
    const bool timer =
        thread.ends_with(" grpc_global_tim\n") || thread.ends_with(" timer_manager\n");
    if (more > (timer ? static_cast<size_t>(milliseconds) / 1000 + 1 : 0)) {
      switches[thread] = more;
    }
  }
  return switches;
}

TEST(RpcConnection, AnIdleServerDoesNotWakeUp) {
  RpcFixture f;
  f.Open();
  std::vector<int> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(f.ConnectFd());
    SendBytes(clients.back(), kPreface + std::string("\0\0\0\4\0\0\0\0\0", 9));
    char byte = 0;
    ASSERT_EQ(read(clients.back(), &byte, 1), 1);  // The server's settings.
  }
  // In the first periods, threads may be about to wait.
  auto switches = SwitchesIn(2000);
  for (int period = 0; period < 4 && !switches.empty(); ++period) {
    switches = SwitchesIn(2000);
  }
  EXPECT_THAT(switches, testing::IsEmpty());
  for (const int fd : clients) {
    close(fd);
  }
}

}  // namespace
}  // namespace wq
