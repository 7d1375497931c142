// Many connections on one loop: which of them give way, who gets its deadline, and how a loop ends.

#include "server/http/http_loop.h"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "tests/server/http/http_client.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kHealth = "GET /healthz HTTP/1.1\r\n\r\n";
constexpr const char* kCall = "GET /call HTTP/1.1\r\n\r\n";
constexpr const char* kForever = "GET /forever HTTP/1.1\r\n\r\n";

// Sends "begun\n" and then nothing.
class ForeverStream final : public HttpStream {
 public:
  explicit ForeverStream(std::atomic<int>* open) : open_(open) { ++*open_; }
  ~ForeverStream() override { --*open_; }
  Next Take(std::string* bytes) override {
    if (std::exchange(begun_, true)) {
      return Next::kNothing;
    }
    *bytes = "begun\n";
    return Next::kMore;
  }

 private:
  std::atomic<int>* const open_;
  bool begun_ = false;
};

class HttpLoopTest : public ::testing::Test {
 protected:
  HttpLoopTest() { Open(hours(1), {}); }
  ~HttpLoopTest() override {
    Release();
    loop_.reset();
  }
  void Open(milliseconds io_timeout, const HttpLoop::Options& options) {
    loop_.reset();
    http_ = std::make_unique<Http>(
        Http::Options{.not_found = [](const std::string&) { return HttpReply{.status = 404}; },
                      .max_request_bytes = 100'000,
                      .io_timeout = io_timeout,
                      .idle_timeout = hours(1)});
    http_->Get(
        "/healthz", [](const HttpRequest&) { return HttpReply{.body = "ok"}; }, HttpRun::kOnLoop);
    http_->Get(
        "/readyz", [](const HttpRequest&) { return HttpReply{.body = "ok"}; }, HttpRun::kReserve);
    http_->Get("/call", [](const HttpRequest&) { return HttpReply{.body = "called"}; });
    http_->Get(
        "/change", [](const HttpRequest&) { return HttpReply{.body = "changed"}; },
        HttpRun::kChange);
    http_->Get("/secret", [](const HttpRequest&) { return HttpReply{.status = 401}; });
    http_->Get("/large",
               [](const HttpRequest&) { return HttpReply{.body = std::string(8'000'000, 'x')}; });
    http_->Get("/forever", [this](const HttpRequest&) {
      return HttpReply{.stream = std::make_shared<ForeverStream>(&streams_)};
    });
    http_->Get("/wait", [this](const HttpRequest&) {
      const MutexLock lock(mu_);
      ++waiting_;
      changed_.NotifyAll();
      while (!released_) {
        changed_.Wait(mu_);
      }
      return HttpReply{.body = "waited"};
    });
    http_->Post("/echo",
                [](const HttpRequest& request) { return HttpReply{.body = request.body}; });
    ASSERT_TRUE(HttpLoop::Open(options, &loop_).ok());
  }
  void Release() {
    {
      const MutexLock lock(mu_);
      released_ = true;
    }
    changed_.NotifyAll();
  }
  void AwaitWaiting(int count) {
    const MutexLock lock(mu_);
    while (waiting_ < count) {
      changed_.Wait(mu_);
    }
  }
  // A client that has sent these bytes.
  FileDescriptor Connect(const std::string& bytes = "") {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    // Before the server's deadline begins, as far as the socket takes it without a reader.
    const std::string_view first = std::string_view(bytes).substr(0, 4096);
    EXPECT_TRUE(SendAll(ends[0], first, ServerFixture::Soon()));
    loop_->Serve(FileDescriptor(ends[1]), http_.get());
    EXPECT_TRUE(
        SendAll(ends[0], std::string_view(bytes).substr(first.size()), ServerFixture::Soon()));
    return FileDescriptor(ends[0]);
  }
  // What comes until `end` has come; or until the server closes, and then "CLOSED".
  static std::string ReadUntil(const FileDescriptor& fd, const std::string& end) {
    std::string all;
    char c = 0;
    while (all.find(end) == std::string::npos) {
      if (ReceiveSome(fd.get(), &c, 1, ServerFixture::Soon()) != 1) {
        return all + "CLOSED";
      }
      all += c;
    }
    return all;
  }
  std::string Ask(const std::string& request) { return ServerFixture::Say(Connect(), request); }
  FileDescriptor OpenStream() {
    FileDescriptor fd = Connect(kForever);
    EXPECT_THAT(ReadUntil(fd, "begun\n"), StartsWith("HTTP/1.1 200"));
    return fd;
  }
  // Until the server has closed its end; false if that is no end but a timeout.
  static bool IsClosed(const FileDescriptor& fd) {
    return ServerFixture::ReadAll(fd.get()).find("TIMEOUT") == std::string::npos;
  }

  std::atomic<int> streams_ = 0;
  Mutex mu_;
  CondVar changed_;
  bool released_ WQ_GUARDED_BY(mu_) = false;
  int waiting_ WQ_GUARDED_BY(mu_) = 0;
  std::unique_ptr<Http> http_;
  std::unique_ptr<HttpLoop> loop_;
};

// --- Who gives way ---

TEST_F(HttpLoopTest, NewcomersOfAPeerGiveWayToItsLater) {
  Open(hours(1), {.max_newcomers = 10});
  const FileDescriptor known = Connect(kCall);
  EXPECT_THAT(ReadUntil(known, "called"), Not(HasSubstr("CLOSED")));
  const FileDescriptor stream = OpenStream();
  std::vector<FileDescriptor> newcomers;
  for (int i = 0; i < 11; ++i) {
    newcomers.push_back(Connect("GET /c"));
  }
  EXPECT_TRUE(IsClosed(newcomers[0]));
  for (size_t i = 1; i < newcomers.size(); ++i) {
    SendAll(newcomers[i].get(), "all HTTP/1.1\r\n\r\n", ServerFixture::Soon());
    EXPECT_THAT(ReadUntil(newcomers[i], "called"), StartsWith("HTTP/1.1 200"));
  }
  SendAll(known.get(), kCall, ServerFixture::Soon());
  EXPECT_THAT(ReadUntil(known, "called"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(streams_, 1);
}

TEST_F(HttpLoopTest, WhoWasRefusedOrAskedForHealthIsANewcomer) {
  Open(hours(1), {.max_newcomers = 2});
  const FileDescriptor refused = Connect("GET /secret HTTP/1.1\r\n\r\n");
  EXPECT_THAT(ReadUntil(refused, "\r\n\r\n"), StartsWith("HTTP/1.1 401"));
  const FileDescriptor health = Connect(kHealth);
  EXPECT_THAT(ReadUntil(health, "ok"), StartsWith("HTTP/1.1 200"));
  const FileDescriptor third = Connect(kHealth);
  EXPECT_THAT(ReadUntil(third, "ok"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(IsClosed(refused));
  const FileDescriptor fourth = Connect();
  EXPECT_TRUE(IsClosed(health));
}

TEST_F(HttpLoopTest, WhoAwaitsItsNextRequestGivesWayAlsoWithAPartOfIt) {
  Open(hours(1), {.max_connections = 2});
  const FileDescriptor first = Connect(kCall);
  EXPECT_THAT(ReadUntil(first, "called"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(SendAll(first.get(), "G", ServerFixture::Soon()));
  const FileDescriptor second = Connect(kCall);
  EXPECT_THAT(ReadUntil(second, "called"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(SendAll(second.get(), "G", ServerFixture::Soon()));
  EXPECT_TRUE(SendAll(first.get(), "E", ServerFixture::Soon()));
  const FileDescriptor third = Connect(kCall);
  EXPECT_THAT(ReadUntil(third, "called"), StartsWith("HTTP/1.1 200"));
  const FileDescriptor fourth = Connect(kCall);
  EXPECT_THAT(ReadUntil(fourth, "called"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(IsClosed(first));
  EXPECT_TRUE(IsClosed(second));
}

TEST_F(HttpLoopTest, PartsOfRequestsHaveALimitOfAllConnections) {
  Open(hours(1), {.max_partial_bytes = 100'000});
  const std::string part =
      "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n" +
      std::string(60'000, 'x');
  const FileDescriptor a = Connect(part);
  const FileDescriptor b = Connect(part);
  pollfd answers[2] = {{.fd = a.get(), .events = POLLIN, .revents = 0},
                       {.fd = b.get(), .events = POLLIN, .revents = 0}};
  ASSERT_EQ(poll(answers, 2, -1), 1);
  const FileDescriptor& refused = answers[0].revents != 0 ? a : b;
  const FileDescriptor& other = answers[0].revents != 0 ? b : a;
  EXPECT_THAT(ReadUntil(refused, "\r\n\r\n"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Ask(kHealth), HasSubstr("ok"));
  EXPECT_TRUE(SendAll(other.get(), std::string(29'999, 'x') + "y", ServerFixture::Soon()));
  EXPECT_THAT(ReadUntil(other, "y"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLoopTest, AStreamWhoseClientSendsOnIsClosed) {
  const FileDescriptor fd = Connect(kForever);
  EXPECT_THAT(ReadUntil(fd, "begun"), StartsWith("HTTP/1.1 200"));
  static_cast<void>(SendAll(fd.get(), std::string(100'000, 'x'), ServerFixture::Soon()));
  EXPECT_TRUE(IsClosed(fd));
}

TEST_F(HttpLoopTest, HealthHasSparePlaces) {
  Open(hours(1), {.max_connections = 4});
  std::vector<FileDescriptor> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(OpenStream());
  }
  EXPECT_THAT(Ask(kCall), HasSubstr("too many connections"));
  std::vector<FileDescriptor> silent;  // They take the spare places in turn.
  for (size_t i = 0; i < 3 * HttpLoop::kSpare; ++i) {
    silent.push_back(Connect("GET /h"));
    EXPECT_THAT(Ask(kHealth), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(Ask("GET /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_LE(loop_->connections(), 4 + HttpLoop::kSpare);
  EXPECT_EQ(streams_, 4);
  streams.pop_back();
  while (Ask(kCall).starts_with("HTTP/1.1 503")) {
    // Until the loop has seen the end of the stream.
  }
}

TEST_F(HttpLoopTest, HealthAndChangesAreAnsweredWhileReadingsTakeAllThreads) {
  Open(hours(1), {.max_threads = 2, .max_waiting_bytes = 1});
  const FileDescriptor first = Connect("GET /wait HTTP/1.1\r\n\r\n");
  AwaitWaiting(1);  // Only now: the second one has no other to wait for.
  const FileDescriptor second = Connect("GET /wait HTTP/1.1\r\n\r\n");
  AwaitWaiting(2);
  const FileDescriptor third = Connect(kCall);  // It waits for a thread.
  EXPECT_THAT(Ask(kHealth), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET /readyz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET /change HTTP/1.1\r\n\r\n"), HasSubstr("changed"));
  EXPECT_THAT(Ask(kCall), HasSubstr("too many calls wait"));
  Release();
  EXPECT_THAT(ReadUntil(first, "waited"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ReadUntil(third, "called"), StartsWith("HTTP/1.1 200"));
}

// --- Deadlines ---

TEST_F(HttpLoopTest, ByteAfterByteDoesNotProlongARequest) {
  Open(milliseconds(300), {});
  const FileDescriptor slow = Connect();
  const std::string request = "GET /call HTTP/1.1\r\nA: " + std::string(100'000, 'x');
  size_t sent = 0;
  for (const char c : request) {  // Until the server has closed its end.
    if (!SendAll(slow.get(), {&c, 1}, ServerFixture::Soon())) {
      break;
    }
    ++sent;
    char answer = 0;
    static_cast<void>(
        ReceiveSome(slow.get(), &answer, 1, std::chrono::steady_clock::now() + milliseconds(5)));
  }
  EXPECT_LT(sent, request.size());
  EXPECT_TRUE(IsClosed(slow));
}

TEST_F(HttpLoopTest, AClientThatDoesNotReadItsAnswerIsClosed) {
  Open(milliseconds(2000), {});
  const FileDescriptor fd = Connect("GET /large HTTP/1.1\r\n\r\n");
  EXPECT_THAT(ReadUntil(fd, "\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(support::Eventually([&] { return loop_->connections() == 0; }));
  EXPECT_LT(ServerFixture::ReadAll(fd.get()).size(), 8'000'000U);
}

// --- Requests ---

TEST_F(HttpLoopTest, AHeadRequestHasTheHeadOfItsAnswer) {
  EXPECT_THAT(Ask("HEAD /call HTTP/1.1\r\n\r\n"), HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(Ask("HEAD /call HTTP/1.1\r\n\r\n"), Not(HasSubstr("called")));
  EXPECT_THAT(Ask("HEAD /forever HTTP/1.1\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  const FileDescriptor fd = Connect("HEAD /forever HTTP/1.1\r\n\r\n");
  EXPECT_THAT(ReadUntil(fd, "\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  SendAll(fd.get(), kCall, ServerFixture::Soon());
  EXPECT_THAT(ReadUntil(fd, "called"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLoopTest, ABodyMayArriveInPartsAndHasALimitWithItsHead) {
  const std::string head =
      "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ";
  const FileDescriptor fd = Connect(head + "30000\r\n\r\n");
  for (int i = 0; i < 300; ++i) {
    SendAll(fd.get(), std::string(100, static_cast<char>('a' + i % 26)), ServerFixture::Soon());
  }
  EXPECT_THAT(ReadUntil(fd, std::string(100, static_cast<char>('a' + 299 % 26))),
              StartsWith("HTTP/1.1 200"));
  const size_t room = 100'000 - head.size() - 9;  // "99999\r\n\r\n".
  EXPECT_THAT(Ask(head + std::to_string(room) + "\r\n\r\n" + std::string(room, 'x')),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask(head + std::to_string(room + 1) + "\r\n\r\n" + std::string(room + 1, 'x')),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Ask(head + "99999999999999999999999\r\n\r\nx"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nA: " + std::string(90'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
}

TEST_F(HttpLoopTest, ManyRequestsOfAClientThatSendsBeforeItReads) {
  constexpr size_t kRequests = 20'000;
  FileDescriptor fd = Connect();
  std::thread sends([&] {
    std::string all;
    for (size_t i = 0; i < kRequests; ++i) {
      all += kCall;
    }
    SendAll(fd.get(), all, ServerFixture::Soon());
  });
  size_t answers = 0;
  std::string text;
  char buffer[65536];
  while (answers < kRequests) {
    const ssize_t n = ReceiveSome(fd.get(), buffer, sizeof(buffer), ServerFixture::Soon());
    ASSERT_GT(n, 0);
    text.append(buffer, static_cast<size_t>(n));
    size_t at = 0;
    for (size_t next = 0; (next = text.find("called", at)) != std::string::npos; at = next + 6) {
      ++answers;
    }
    text.erase(0, at);
  }
  sends.join();
  EXPECT_EQ(answers, kRequests);
}

// --- The end ---

TEST_F(HttpLoopTest, ALoopThatClosesAnswersWhatWasReadAndWaitsForNobody) {
  std::vector<FileDescriptor> streams;
  std::vector<FileDescriptor> calls;
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 200; ++i) {
    streams.push_back(OpenStream());
    silent.push_back(Connect(i % 2 == 0 ? "" : "GET /cal"));
    if (i < 50) {
      calls.push_back(Connect("GET /wait HTTP/1.1\r\n\r\n"));
    }
  }
  const FileDescriptor unread = Connect("GET /large HTTP/1.1\r\n\r\n");
  AwaitWaiting(50);
  std::thread closes([this] { loop_->Close(); });
  for (const FileDescriptor& fd : silent) {
    EXPECT_EQ(ServerFixture::ReadAll(fd.get()), "");
  }
  Release();
  for (const FileDescriptor& fd : calls) {
    EXPECT_THAT(ServerFixture::ReadAll(fd.get()), HasSubstr("waited"));
  }
  closes.join();
  EXPECT_EQ(streams_, 0);
  EXPECT_EQ(loop_->connections(), 0U);
  EXPECT_EQ(ServerFixture::ReadAll(Connect().get()), "");  // Not served any more.
}

}  // namespace
}  // namespace wq
