// HTTP/1.1 on one connection: several requests, and requests that are refused.

#include "server/http/http.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/http/http_client.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::Not;

Http::Options HttpTestOptions() {
  return {.not_found =
              [](const std::string& request) {
                return HttpReply{.status = 404, .body = "no " + request};
              },
          .max_request_bytes = 100'000,
          .io_timeout = hours(1),
          .idle_timeout = hours(1)};
}

class HttpTest : public ::testing::Test {
 protected:
  HttpTest() { Make(HttpTestOptions()); }
  void Make(const Http::Options& options) {
    http_ = std::make_unique<Http>(options);
    http_->Get("/hello", [](const HttpRequest&) { return HttpReply{.body = "hello"}; });
    http_->Post("/echo", [](const HttpRequest& request) {
      return HttpReply{.body = request.authorization + "|" + request.body};
    });
  }
  std::unique_ptr<Http> http_;
};

constexpr const char* kGetHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

// --- Several requests on a connection ---

TEST_F(HttpTest, AConnectionStaysOpenForFurtherRequests) {
  HttpClient client(*http_);
  for (int i = 0; i < 20; ++i) {
    const std::string body(static_cast<size_t>(i) * 1000, 'x');
    const ReceivedReply echo = client.Post("/echo", body);
    EXPECT_EQ(echo.body, "|" + body);
    EXPECT_THAT(echo.head, Not(HasSubstr("Connection:")));
    EXPECT_EQ(client.Ask(kGetHello).body, "hello");
  }
  EXPECT_EQ(client.Ask("GET /elsewhere HTTP/1.1\r\n\r\n").body, "no GET /elsewhere");
  EXPECT_EQ(client.Post("/hello", "{}").body, "no POST /hello");
  EXPECT_EQ(client.Ask(kGetHello).status, 200);
}

TEST_F(HttpTest, TheConnectionEndsWhereTheNextRequestCannotBeFound) {
  const std::string body = "GET /hello HTTP/1.1\r\n\r\n";
  for (const std::string& request :
       {std::string("GET /hello HTTP/1.0\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nConnection: Keep-Alive, Close\r\n\r\n"),
        "GET /hello HTTP/1.1\r\nContent-Length: 23\r\n\r\n" + body,
        "GET /hello HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
        "DELETE /hello HTTP/1.1\r\nContent-Length: 23\r\n\r\n" + body,
        "POST /echo HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 23\r\n\r\n" + body,
        "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 23\r\n"
        "Content-Length: 0\r\n\r\n" +
            body,
        "POST /echo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: +0\r\n\r\n" +
            body,
        std::string("nonsense\r\n\r\n")}) {
    HttpClient client(*http_);
    const ReceivedReply reply = client.Ask(request);
    EXPECT_THAT(reply.head, HasSubstr("\r\nConnection: close\r\n")) << request;
    EXPECT_EQ(client.Reply().status, 0) << request;
  }
}

TEST_F(HttpTest, AClientThatEndsItsSideGetsItsAnswerAndNoMore) {
  HttpClient client(*http_);
  client.Send(kGetHello);
  client.EndSending();
  EXPECT_EQ(client.Reply().body, "hello");
  EXPECT_EQ(client.Reply().status, 0);
}

TEST_F(HttpTest, EachRequestHasItsOwnLimitOfBytes) {
  HttpClient client(*http_);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.Post("/echo", std::string(90'000, 'x')).status, 200);
  }
  EXPECT_EQ(client.Post("/echo", std::string(100'001, 'x')).status, 413);
  EXPECT_EQ(client.Reply().status, 0);
}

TEST_F(HttpTest, ABodyAnnouncedByExpectIsTakenOrRefused) {
  const std::string head =
      "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nContent-Type: ";
  HttpClient client(*http_);
  EXPECT_EQ(client.Ask(head + "application/json\r\n\r\n").status, 100);
  EXPECT_EQ(client.Ask("{}").body, "|{}");
  EXPECT_EQ(client.Ask(head + "text/plain\r\n\r\n").status, 415);
}

// --- Refusals ---

TEST_F(HttpTest, WebPagesAndOtherHostsAreRefused) {
  Http::Options options = HttpTestOptions();
  options.check_host = true;
  Make(options);
  for (const char* headers :
       {"Host: evil.example\r\n", "", "Host: localhost\r\nOrigin: http://evil.example\r\n",
        "Host: localhost\r\nOrigin: null\r\n", "Host: 127.0.0.1:80\r\norigin: x\r\n",
        "Host: localhost\r\nHost: evil.example\r\n"}) {
    for (const char* method : {"GET", "POST", "OPTIONS"}) {
      HttpClient client(*http_);
      const ReceivedReply reply =
          client.Ask(std::string(method) + " /hello HTTP/1.1\r\n" + headers + "\r\n");
      EXPECT_EQ(reply.status, 403) << headers;
      EXPECT_EQ(client.Reply().status, 0);
    }
  }
  HttpClient client(*http_);
  EXPECT_EQ(client.Ask(kGetHello).status, 200);
}

TEST_F(HttpTest, RefusalsHaveTheFormOfTheirServer) {
  Http::Options options = HttpTestOptions();
  options.refused = [](int status, const std::string& message) {
    return HttpReply{.status = status, .type = "x/y", .body = "<" + message + ">"};
  };
  Make(options);
  HttpClient client(*http_);
  const ReceivedReply reply = client.Ask("DELETE / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.body, "<only GET, HEAD and POST>");
  HttpClient another(*http_);
  EXPECT_EQ(another.Ask("nonsense\r\n\r\n").body, "<no valid HTTP request>");
  HttpClient longer(*http_);
  EXPECT_EQ(longer.Post("/echo", std::string(100'001, 'x')).body, "<the request is too long>");
}

}  // namespace
}  // namespace wq
