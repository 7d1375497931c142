// The acceptor: which connections are gRPC, how many there are, and that none is left behind.

#include "server/net/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/server/server_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr const char* kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Changes the soft limit of descriptors until its end.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t soft) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit changed = {std::min(soft, before_.rlim_max), before_.rlim_max};
    set_ = setrlimit(RLIMIT_NOFILE, &changed) == 0;
  }
  ~DescriptorLimit() { Restore(); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  void Restore() const { setrlimit(RLIMIT_NOFILE, &before_); }
  bool set() const { return set_; }

 private:
  rlimit before_ = {};
  bool set_ = false;
};

// Serves a unix socket and a TCP socket of each other kind. gRPC connections are greeted with
// "grpc\n", count as known, and are closed when a test says so; HTTP connections are greeted with
// "http\n", and the last ones stay open.
class AcceptorTest : public ::testing::Test {
 protected:
  void Serve(Acceptor::Options options = {}) {
    acceptor_.reset();
    options.listeners.clear();
    ASSERT_TRUE(OpenSocketFile(dir_.path(), "control.sock", &file_).ok());
    FileDescriptor fd(-1);
    ASSERT_TRUE(ListenOnFile(file_, &fd).ok());
    options.listeners.push_back({std::move(fd), ListenerKind::kControl});
    for (const ListenerKind kind : {ListenerKind::kTcp, ListenerKind::kTls, ListenerKind::kWeb}) {
      FileDescriptor tcp(-1);
      ASSERT_TRUE(ListenOnTcp("127.0.0.1:0", false, &tcp, &ports_[static_cast<int>(kind)]).ok());
      options.listeners.push_back({std::move(tcp), kind});
    }
    options.grpc = [this](FileDescriptor grpc, ListenerKind kind) {
      Keep(std::move(grpc), kind == ListenerKind::kTls ? "tls\n" : "grpc\n");
    };
    options.http = [this](FileDescriptor http, ListenerKind) { KeepHttp(std::move(http)); };
    const Status s = Acceptor::Open(std::move(options), &acceptor_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  void Keep(FileDescriptor fd, const char* greeting) {
    if (calls_) {
      acceptor_->SetKnown(PeerName(fd.get()));
    }
    const MutexLock lock(mu_);
    grpc_.push_back(std::move(fd));
    SendAll(grpc_.back().get(), greeting, ServerFixture::Soon());
  }
  void KeepHttp(FileDescriptor fd) {
    const MutexLock lock(mu_);
    SendAll(fd.get(), "http\n", ServerFixture::Soon());
    http_.push_back(std::move(fd));
    if (http_.size() > 10) {
      http_.pop_front();
    }
  }
  // As gRPC closes a connection.
  void EndGrpc() {
    const MutexLock lock(mu_);
    for (const FileDescriptor& fd : grpc_) {
      shutdown(fd.get(), SHUT_RDWR);
    }
    grpc_.clear();
  }
  void AwaitGrpcConnections(size_t count) const {
    EXPECT_TRUE(support::Eventually([&] { return acceptor_->grpc_connections() == count; }));
  }

  FileDescriptor Connect(ListenerKind kind, const std::string& first = "",
                         const char* from = "127.0.0.1") const {
    FileDescriptor fd(-1);
    if (kind == ListenerKind::kControl) {
      EXPECT_TRUE(ConnectToFile(file_, &fd).ok());
    } else {
      fd = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in own = {};
      own.sin_family = AF_INET;
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      inet_pton(AF_INET, from, &own.sin_addr);
      EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
      address.sin_port = htons(static_cast<uint16_t>(ports_[static_cast<int>(kind)]));
      EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    SendAll(fd.get(), first, ServerFixture::Soon());
    return fd;
  }
  // Up to a newline; "" if the connection is closed before.
  static std::string Line(const FileDescriptor& fd) {
    std::string line;
    char c = 0;
    while (ReceiveSome(fd.get(), &c, 1, ServerFixture::Soon()) == 1) {
      line += c;
      if (c == '\n') {
        return line;
      }
    }
    return "";
  }

  const support::ScratchDirectory dir_;
  SocketFile file_;
  int ports_[4] = {};
  Mutex mu_;
  std::vector<FileDescriptor> grpc_ WQ_GUARDED_BY(mu_);
  std::deque<FileDescriptor> http_ WQ_GUARDED_BY(mu_);  // The last ones.
  std::unique_ptr<Acceptor> acceptor_;
  std::atomic<bool> calls_ = true;  // New gRPC connections make a call at once.
};

TEST_F(AcceptorTest, TheFirstFourBytesDecide) {
  Serve();
  for (const ListenerKind kind : {ListenerKind::kControl, ListenerKind::kTcp}) {
    EXPECT_EQ(Line(Connect(kind, kPreface)), "grpc\n");
    EXPECT_EQ(Line(Connect(kind, "PRI ")), "grpc\n");
    for (const char* first : {"GET / HTTP/1.1\r\n", "PRIX", "P ", "\n", "\x16\x03\x01"}) {
      EXPECT_EQ(Line(Connect(kind, first)), "http\n") << first;
    }
  }
}

TEST_F(AcceptorTest, BytesMayArriveOneByOneAndAreLeftInTheSocket) {
  Serve();
  const int on = 1;
  for (const ListenerKind kind : {ListenerKind::kControl, ListenerKind::kTcp}) {
    for (const std::string first : {"PRI ", "PROPFIND"}) {
      const FileDescriptor fd = Connect(kind);
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      for (const char c : first) {
        SendAll(fd.get(), {&c, 1}, ServerFixture::Soon());
        // The acceptor has handled an event that follows this one.
        EXPECT_EQ(Line(Connect(kind, "GET ")), "http\n");
      }
      ASSERT_EQ(Line(fd), first == "PRI " ? "grpc\n" : "http\n");
    }
    const MutexLock lock(mu_);
    char seen[5] = {};
    EXPECT_EQ(ReceiveSome(grpc_.back().get(), seen, 4, ServerFixture::Soon()), 4);
    EXPECT_STREQ(seen, "PRI ");
  }
}

TEST_F(AcceptorTest, TlsIsGrpcAndWebIsHttpWithoutABytesArrival) {
  Serve();
  EXPECT_EQ(Line(Connect(ListenerKind::kTls)), "tls\n");
  EXPECT_EQ(Line(Connect(ListenerKind::kWeb)), "http\n");
  EXPECT_EQ(Line(Connect(ListenerKind::kWeb, kPreface)), "http\n");
}

TEST_F(AcceptorTest, AClientThatSendsTooLittleIsClosedAfterTheTimeout) {
  Serve({.io_timeout = milliseconds(50)});
  for (const ListenerKind kind : {ListenerKind::kControl, ListenerKind::kTcp}) {
    for (const char* first : {"", "P", "PRI"}) {
      EXPECT_EQ(ServerFixture::ReadAll(Connect(kind, first).get()), "") << first;
    }
  }
}

TEST_F(AcceptorTest, AClientThatEndsEarlyIsClosedAtOnce) {
  Serve({.io_timeout = hours(1)});
  for (const ListenerKind kind : {ListenerKind::kControl, ListenerKind::kTcp}) {
    for (const char* first : {"", "PRI"}) {
      const FileDescriptor fd = Connect(kind, first);
      shutdown(fd.get(), SHUT_WR);
      EXPECT_EQ(ServerFixture::ReadAll(fd.get()), "") << first;
    }
  }
}

TEST_F(AcceptorTest, OfManySilentClientsTheOldestIsClosed) {
  const DescriptorLimit limit(4096);  // A sixteenth of it are silent.
  ASSERT_TRUE(limit.set());
  Serve({.io_timeout = hours(1)});
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 257; ++i) {
    silent.push_back(Connect(ListenerKind::kTcp));
  }
  EXPECT_EQ(ServerFixture::ReadAll(silent.front().get()), "");
  SendAll(silent.back().get(), kPreface, ServerFixture::Soon());
  EXPECT_EQ(Line(silent.back()), "grpc\n");
}

TEST_F(AcceptorTest, GrpcConnectionsOverTheLimitOfTheirKindAreClosed) {
  Serve({.max_grpc = 2});
  const FileDescriptor first = Connect(ListenerKind::kTcp, kPreface);
  const FileDescriptor second = Connect(ListenerKind::kTcp, kPreface, "127.0.0.2");
  ASSERT_EQ(Line(first), "grpc\n");
  ASSERT_EQ(Line(second), "grpc\n");
  EXPECT_EQ(Line(Connect(ListenerKind::kTcp, kPreface)), "");
  const FileDescriptor control = Connect(ListenerKind::kControl, kPreface);
  EXPECT_EQ(Line(control), "grpc\n");
  EXPECT_EQ(Line(Connect(ListenerKind::kTls)), "tls\n");
  EXPECT_EQ(Line(Connect(ListenerKind::kTcp, "GET ")), "http\n");
  EXPECT_EQ(acceptor_->grpc_connections(), 4U);
  EndGrpc();
  AwaitGrpcConnections(0);
  EXPECT_EQ(Line(Connect(ListenerKind::kTcp, kPreface)), "grpc\n");
}

TEST_F(AcceptorTest, OneAddressLeavesGrpcConnectionsToOthers) {
  Serve({.max_grpc = 4});
  std::vector<FileDescriptor> flood;
  for (int i = 0; i < 3; ++i) {
    flood.push_back(Connect(ListenerKind::kTcp, kPreface));
    ASSERT_EQ(Line(flood.back()), "grpc\n");
  }
  EXPECT_EQ(Line(Connect(ListenerKind::kTcp, kPreface)), "");
  EXPECT_EQ(Line(Connect(ListenerKind::kTcp, kPreface, "127.0.0.2")), "grpc\n");
  EndGrpc();
  AwaitGrpcConnections(0);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Line(Connect(ListenerKind::kControl, kPreface)), "grpc\n");
  }
  EXPECT_EQ(Line(Connect(ListenerKind::kTcp, kPreface)), "grpc\n");
}

TEST_F(AcceptorTest, AConnectionOverALimitEndsTheOldestNewcomer) {
  Serve({.max_grpc = 4});
  std::vector<FileDescriptor> some;
  for (int i = 0; i < 3; ++i) {
    calls_ = i == 0;
    some.push_back(Connect(ListenerKind::kTcp, kPreface));
    ASSERT_EQ(Line(some.back()), "grpc\n");
  }
  EXPECT_EQ(Line(Connect(ListenerKind::kTls)), "tls\n");
  some.push_back(Connect(ListenerKind::kTcp, kPreface));  // Of this address three are too many.
  EXPECT_EQ(Line(some.back()), "grpc\n");
  EXPECT_EQ(ServerFixture::ReadAll(some[1].get()), "");
  for (int i = 0; i < 2; ++i) {
    some.push_back(Connect(ListenerKind::kTcp, kPreface, "127.0.0.2"));
    EXPECT_EQ(Line(some.back()), "grpc\n");
  }
  EXPECT_EQ(ServerFixture::ReadAll(some[2].get()), "");
  EXPECT_EQ(acceptor_->grpc_connections(), 5U);
  char c = 0;
  EXPECT_EQ(recv(some[0].get(), &c, 1, MSG_DONTWAIT), -1) << "it has made a call";
}

TEST_F(AcceptorTest, ANewcomerEndsAfterItsTime) {
  Serve({.newcomer_timeout = milliseconds(50)});
  const FileDescriptor control = Connect(ListenerKind::kControl, kPreface);
  ASSERT_EQ(Line(control), "grpc\n");
  const FileDescriptor known = Connect(ListenerKind::kTcp, kPreface);
  ASSERT_EQ(Line(known), "grpc\n");
  calls_ = false;
  for (const ListenerKind kind : {ListenerKind::kTcp, ListenerKind::kTls}) {
    ServerFixture::ReadAll(Connect(kind, kPreface).get());
  }
  AwaitGrpcConnections(2);  // The others.
}

TEST_F(AcceptorTest, ALowLimitOfDescriptorsLowersTheConnections) {
  DescriptorLimit limit(1024);
  ASSERT_TRUE(limit.set());
  Serve();
  EXPECT_GT(acceptor_->max_grpc(), 0U);
  EXPECT_LE(acceptor_->max_grpc(), 1024U / 2 / 2 / 3);  // Three kinds, two descriptors each.
  Serve({.max_grpc = 7});
  EXPECT_EQ(acceptor_->max_grpc(), 7U);
}

TEST_F(AcceptorTest, WithoutADescriptorAConnectionWaitsUntilThereIsOne) {
  Serve();
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = dir_ / "control.sock";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, sizeof(address.sun_path));
  const DescriptorLimit limit(4);
  ASSERT_TRUE(limit.set());
  ASSERT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_TRUE(SendAll(fd.get(), kPreface, ServerFixture::Soon()));
  char c = 0;
  EXPECT_EQ(ReceiveSome(fd.get(), &c, 1, std::chrono::steady_clock::now() + milliseconds(10)), -1);
  limit.Restore();
  EXPECT_EQ(Line(fd), "grpc\n");
}

TEST_F(AcceptorTest, TcpNoticesACutNetworkByItself) {
  Serve();
  const FileDescriptor fd = Connect(ListenerKind::kTcp, kPreface);
  ASSERT_EQ(Line(fd), "grpc\n");
  const auto option = [this](int level, int name) {
    const MutexLock lock(mu_);
    int value = 0;
    socklen_t size = sizeof(value);
    EXPECT_EQ(getsockopt(grpc_.front().get(), level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 30);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 10);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 60'000);
}

TEST_F(AcceptorTest, StopLeavesTheKnownConnections) {
  Serve({.io_timeout = hours(1)});
  const FileDescriptor silent = Connect(ListenerKind::kTcp);
  const FileDescriptor grpc = Connect(ListenerKind::kTcp, kPreface);
  const FileDescriptor http = Connect(ListenerKind::kControl, "GET ");
  ASSERT_EQ(Line(grpc), "grpc\n");
  ASSERT_EQ(Line(http), "http\n");
  acceptor_->Stop();
  EXPECT_EQ(ServerFixture::ReadAll(silent.get()), "");
  for (const FileDescriptor* const open : {&grpc, &http}) {
    char c = 0;
    EXPECT_EQ(recv(open->get(), &c, 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
  }
  acceptor_->Close();
  acceptor_->Close();
  EXPECT_EQ(ServerFixture::ReadAll(grpc.get()), "");
}

}  // namespace
}  // namespace wq
