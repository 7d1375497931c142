// Access to a server, and its resistance to bad requests.

#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "engine/store/store_impl.h"
#include "server/http/http.h"
#include "tests/server/server_fixture.h"
#include "tests/support/memory_storage.h"
#include "wq/live_store.h"
#include "wq/live_worker.h"
#include "wq/queue_access.h"

namespace wq {
namespace {

using ::testing::HasSubstr;

class ServerTest : public ::testing::Test, public ServerFixture {};

// --- The socket's file ---

TEST_F(ServerTest, TheSocketIsAccessibleToTheOwnerOnly) {
  const mode_t before = umask(0);
  Serve();
  umask(before);
  struct stat info;
  ASSERT_EQ(lstat(server_->socket_path().c_str(), &info), 0);
  EXPECT_EQ(server_->socket_path(), socket_path());
  EXPECT_EQ(info.st_mode, mode_t{S_IFSOCK | 0600});
}

TEST_F(ServerTest, AnotherUserIsNotAnswered) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can be two users";
  }
  Serve();
  // The modes let other users connect, so the server itself must refuse them.
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(store_dir_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(socket_path().c_str(), 0666), 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(socket_path().size(), sizeof(address.sun_path));
  socket_path().copy(address.sun_path, sizeof(address.sun_path));
  const std::string request = "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n";
  for (const uid_t uid : {uid_t{0}, uid_t{65534}}) {
    const pid_t child = fork();
    if (child == 0) {  // System calls only. Exits with 1 if it gets bytes.
      char buffer[64];
      const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      if (setuid(uid) != 0 ||
          connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        _exit(100);
      }
      static_cast<void>(send(fd, request.data(), request.size(), MSG_NOSIGNAL));
      _exit(read(fd, buffer, sizeof(buffer)) > 0 ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), uid == 0 ? 1 : 0) << uid;
  }
}

TEST_F(ServerTest, ASocketThatADeadOwnerLeftIsReplaced) {
  SocketFile file;
  FileDescriptor listener(-1);
  ASSERT_TRUE(OpenSocketFile(store_dir_, "control.sock", &file).ok());
  ASSERT_TRUE(ListenOnFile(file, &listener).ok());
  listener = FileDescriptor(-1);  // The file stays, as after kill -9.
  std::unique_ptr<LiveStore> live;
  EXPECT_EQ(LiveStore::Connect(store_dir_, &live).code(), StatusCode::kNotFound);
  Serve();
  EXPECT_TRUE(LiveStore::Connect(store_dir_, &live).ok());
}

TEST_F(ServerTest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(socket_path()) << "mine";
  EXPECT_EQ(Server::Open(store_.get(), {.control_socket = true}, &server_).code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(socket_path()), 4U);
}

TEST_F(ServerTest, CloseRemovesItsOwnSocketAndNoOther) {
  Serve();
  server_->Close();
  server_->Close();
  EXPECT_FALSE(std::filesystem::exists(socket_path()));
  std::unique_ptr<LiveStore> live;
  EXPECT_EQ(LiveStore::Connect(store_dir_, &live).code(), StatusCode::kNotFound);
  Serve();
  SocketFile file;
  FileDescriptor another(-1);
  ASSERT_TRUE(OpenSocketFile(store_dir_, "control.sock", &file).ok());
  ASSERT_TRUE(ListenOnFile(file, &another).ok());
  server_.reset();
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
}

TEST_F(ServerTest, ADirectoryMayHaveALongerNameThanASocket) {
  store_.reset();
  store_dir_ = dir_ / std::string(200, 'd');
  OpenStore();
  Serve();
  const auto live = Connect();
  LiveInfo info;
  EXPECT_TRUE(live->Read(&info).ok());
  EXPECT_EQ(info.uuid, store_->uuid());
}

// --- HTTP ---

TEST_F(ServerTest, NothingIsOpenByDefault) {
  EXPECT_EQ(Server::Open(store_.get(), {}, &server_).code(), StatusCode::kInvalidArgument);
  Serve({.control_socket = true});
  EXPECT_EQ(server_->http_port(), 0);
  Serve({.http_address = "localhost:0"});
  EXPECT_FALSE(std::filesystem::exists(socket_path()));
  EXPECT_EQ(server_->socket_path(), "");
  std::unique_ptr<Store> in_memory;
  ASSERT_TRUE(Store::OpenInMemory({}, &in_memory).ok());
  std::unique_ptr<Server> server;
  EXPECT_EQ(Server::Open(in_memory.get(), {.control_socket = true}, &server).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(ServerTest, ARequestHasABoundFromOneByteToAGibibyte) {
  for (const size_t bound : {size_t{0}, (size_t{1} << 30) + 1}) {
    ServerOptions options{.address = "127.0.0.1:0"};
    options.max_request_bytes = bound;
    const Status s = Server::Open(store_.get(), options, &server_);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr("max_request_bytes"));
  }
}

TEST_F(ServerTest, ListensOnLoopbackOnlyUnlessAnyAddressIsAllowed) {
  const std::vector<std::string> loopback = {"localhost:0", "127.0.0.1:0", "127.9.9.9:0",
                                             "[::1]:0"};
  const std::vector<std::string> others = {"0.0.0.0:0", "[::]:0"};
  const std::vector<std::string> none = {
      "example.com:80", ":80",     "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
      "127.0.0.1:80x",  "0.0.0.0", "[::]",      "*:0",        "::1:80"};
  for (const bool any : {false, true}) {
    const auto open = [&](const std::string& address) {
      return Server::Open(store_.get(), {.http_address = address, .http_any_address = any},
                          &server_);
    };
    for (const std::string& address : loopback) {
      EXPECT_TRUE(open(address).ok()) << address;
      EXPECT_GT(server_->http_port(), 0);
    }
    for (const std::string& address : others) {
      EXPECT_EQ(open(address).code(), any ? StatusCode::kOk : StatusCode::kInvalidArgument);
    }
    for (const std::string& address : none) {
      const Status s = open(address);
      EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << address;
      EXPECT_THAT(s.message(), HasSubstr(address));
    }
  }
}

TEST_F(ServerTest, OnAnyAddressEveryHostNameIsServed) {
  Serve({.http_address = "0.0.0.0:0", .http_any_address = true});
  EXPECT_EQ(StatusOf(Get("/healthz", "Host: pods.example:9464\r\n")), 200);
  EXPECT_EQ(StatusOf(Get("/readyz", "")), 200);
}

TEST_F(ServerTest, AnUnknownPathIsRefusedByName) {
  Serve();
  for (const char* path : {"/wq.v1.Queue/Ad", "/v1/add", "/"}) {
    const std::string answer = Post(path, "{}");
    EXPECT_EQ(StatusOf(answer), 404);
    EXPECT_THAT(answer, HasSubstr(R"({"code":"NotFound","message":)")) << path;
    EXPECT_THAT(answer, HasSubstr("POST " + std::string(path))) << path;
    EXPECT_THAT(Get(path), HasSubstr("\r\n\r\nnot served here: GET " + std::string(path) + "\n"));
  }
  // Nothing is changed over the address of the metrics.
  const std::string add = PostOf("/wq.v1.Queue/Add", R"({"queue": "pods", "keys": ["YQ=="]})");
  EXPECT_EQ(StatusOf(Say(ConnectTcp(), add)), 404);
  EXPECT_EQ(pods_->Len(), 0U);
}

TEST_F(ServerTest, ATakenPortIsAnError) {
  Serve();
  std::unique_ptr<Server> second;
  EXPECT_EQ(
      Server::Open(store_.get(),
                   {.http_address = "127.0.0.1:" + std::to_string(server_->http_port())}, &second)
          .code(),
      StatusCode::kIOError);
}

TEST_F(ServerTest, HealthReadinessAndMetrics) {
  Serve({.http_address = "127.0.0.1:0", .metrics = [] { return std::string("my_total 7\n"); }});
  EXPECT_THAT(Get("/healthz"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_THAT(Get("/readyz"), HasSubstr("\r\n\r\nok\n"));
  const std::string metrics = Get("/metrics", "Host: [::1]:1\r\nAccept-Encoding: gzip, br\r\n");
  EXPECT_THAT(metrics, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(metrics, HasSubstr("\r\n\r\nmy_total 7\n"));
  EXPECT_EQ(StatusOf(Get("/elsewhere")), 404);
  Serve();
  EXPECT_EQ(StatusOf(Get("/metrics")), 404);
}

TEST_F(ServerTest, AQueueThatShutsDownIsAliveAndNotReady) {
  Serve();
  pods_->ShutDown();
  EXPECT_EQ(StatusOf(Get("/healthz")), 200);
  EXPECT_EQ(StatusOf(Get("/readyz")), 503);
  EXPECT_THAT(Get("/readyz"), HasSubstr("queue pods is shutting down"));
}

TEST_F(ServerTest, AStoreThatIsNotDurableIsNotReady) {
  auto disk = std::make_shared<storage::MemoryDisk>();
  std::unique_ptr<Store> failing;
  Queue* queue = nullptr;
  ASSERT_TRUE(
      Store::Impl::Open({}, "", std::make_unique<storage::MemoryStorage>(disk), &failing).ok());
  ASSERT_TRUE(failing->OpenQueue("q", {}, &queue).ok());
  ASSERT_TRUE(
      Server::Open(
          failing.get(),
          {.address = "127.0.0.1:0", .http_address = "127.0.0.1:0", .delete_any_queue = true},
          &server_)
          .ok());
  EXPECT_EQ(StatusOf(Get("/readyz")), 200);
  {
    const MutexLock lock(disk->mu);
    disk->state.fail_after = 0;
  }
  EXPECT_EQ(queue->Add("a").code(), StatusCode::kNotDurable);
  EXPECT_EQ(StatusOf(Get("/readyz")), 503);
  EXPECT_THAT(Get("/readyz"), HasSubstr("not durable: "));
  EXPECT_EQ(
      StatusOf(Say(ConnectTcp(server_->port()),
                   PostOf("/wq.v1.Admin/DeleteQueue", R"({"queue": "q"})", "Host: localhost\r\n"))),
      500);
  EXPECT_FALSE(queue->IsShuttingDown());
  server_.reset();
}

// --- Access ---

TEST_F(ServerTest, TlsAloneIsNoAccessControl) {
  ServerOptions options{
      .address = "0.0.0.0:0", .tls_certificate_file = "cert.pem", .tls_key_file = "key.pem"};
  const Status s = Server::Open(store_.get(), options, &server_);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("--tls-any-client"));
  EXPECT_EQ(Server::Open(store_.get(), {.address = "127.0.0.1:0", .tls_any_client = true}, &server_)
                .code(),
            StatusCode::kInvalidArgument);
  options.tls_any_client = true;  // Now the files are read, which do not exist.
  EXPECT_EQ(Server::Open(store_.get(), options, &server_).code(), StatusCode::kNotFound);
}

TEST_F(ServerTest, AReadOnlyServerShowsAndChangesNothing) {
  Serve({.control_socket = true, .read_only = true});
  const auto live = Connect();
  const std::vector<std::string_view> keys = {"a"};
  BatchResult result;
  const Status s = live->Access("pods", true)->Add(keys, {}, {}, &result);
  EXPECT_EQ(s.code(), StatusCode::kNotSupported);
  EXPECT_THAT(s.message(), HasSubstr("read-only"));
  std::unique_ptr<LiveWorker> worker;
  EXPECT_EQ(live->Work("pods", {}, &worker).code(), StatusCode::kNotSupported);
  EXPECT_EQ(live->DeleteQueue("pods").code(), StatusCode::kNotSupported);
  EXPECT_EQ(StatusOf(Post("/wq.v1.Queue/Counts", R"({"queue": "pods"})")), 200);
  EXPECT_EQ(StatusOf(Post("/wq.v1.Queue/Add", R"({"queue": "pods", "keys": ["YQ=="]})")), 403);
  EXPECT_EQ(pods_->Counts().queued, 0U);
}

// Other sockets and pipes of the process rely on the disposition of SIGPIPE.
TEST_F(ServerTest, SigpipeStaysAsItWas) {
  struct sigaction before = {};
  before.sa_handler = SIG_DFL;
  struct sigaction first = {};
  ASSERT_EQ(sigaction(SIGPIPE, &before, &first), 0);
  Serve();
  {
    FileDescriptor gone = ConnectTcp();
    SendAll(gone.get(), "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", Soon());
  }
  EXPECT_EQ(StatusOf(Get("/healthz")), 200);
  struct sigaction after = {};
  ASSERT_EQ(sigaction(SIGPIPE, &first, &after), 0);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace wq
