// HTTP/1.1 on one connection: several requests, what a handler gets of one and which headers its
// answer has, and requests that are refused.

#include "server/http/http.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/http/http_client.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpTest : public ::testing::Test {
 protected:
  HttpTest() { Make({}); }
  void Make(Http::Options options) {
    options.not_found = [](const std::string& request) {
      return HttpReply{.status = 404, .body = "no " + request};
    };
    options.max_request_bytes = 100'000;
    options.io_timeout = hours(1);
    options.idle_timeout = hours(1);
    http_ = std::make_unique<Http>(options);
    http_->Get("/hello", [](const HttpRequest&) { return HttpReply{.body = "hello"}; });
    http_->Post("/echo", [](const HttpRequest& request) {
      return HttpReply{.body = request.authorization + "|" + request.body};
    });
    http_->Get("/a b", [](const HttpRequest& request) {
      return HttpReply{.body = request.path + "|" + request.cookie + "|" + request.if_none_match,
                       .headers = {{"X-Own", "1"}, {"X-Both", "reply"}}};
    });
    http_->Get("/gone", [](const HttpRequest&) { return HttpReply{.status = 304}; });
  }
  // The status of a request with these headers.
  int Status(const std::string& headers) {
    return HttpClient(*http_).Ask("GET /hello HTTP/1.1\r\n" + headers + "\r\n").status;
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
  EXPECT_EQ(client.Ask(head + "Application/JSON ; charset=utf-8\r\n\r\n").status, 100);
  EXPECT_EQ(client.Ask("{}").body, "|{}");
  EXPECT_EQ(client.Ask(head + "text/plain\r\n\r\n").status, 415);
}

// --- Requests and answers ---

TEST_F(HttpTest, AHandlerGetsThePathAndTheCookies) {
  HttpClient client(*http_);
  EXPECT_EQ(client
                .Ask("GET /a%20b?x=%26&y=1+2 HTTP/1.1\r\nCookie: a=1\r\nCookie: b=2\r\n"
                     "If-None-Match: \"t\"\r\n\r\n")
                .body,
            "/a b|a=1; b=2|\"t\"");
  EXPECT_EQ(client.Ask("GET /a%20b HTTP/1.1\r\n\r\n").body, "/a b||");
  EXPECT_EQ(PathOf("/100%?x"), "/100%");
  EXPECT_EQ(PathOf("/%4#x"), "/%4");
  EXPECT_EQ(PathOf("/%zz%4a%4A+%00"), "/%zzJJ+" + std::string(1, '\0'));
}

TEST_F(HttpTest, AnAnswersOwnHeadersTakeTheirPlace) {
  Make({.headers = {{"X-Both", "all"}, {"X-All", "2"}}});
  HttpClient client(*http_);
  const std::string head = client.Ask("GET /a%20b HTTP/1.1\r\n\r\n").head;
  EXPECT_THAT(head, HasSubstr("\r\nX-Own: 1\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Both: reply\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("X-Both: all")));
  EXPECT_THAT(head, HasSubstr("\r\nX-All: 2\r\n"));
  EXPECT_THAT(client.Ask("GET /missing HTTP/1.1\r\n\r\n").head, HasSubstr("\r\nX-Both: all\r\n"));
  EXPECT_THAT(client.Ask("GET /gone HTTP/1.1\r\n\r\n").head, HasSubstr("\r\nX-All: 2\r\n"));
}

// --- Refusals ---

TEST_F(HttpTest, WhichHostsAndOriginsMayAsk) {
  const std::string own = "Host: localhost:1\r\nOrigin: http://localhost:1\r\n";
  const std::string host = "Host: localhost:1\r\n";
  const std::string evil = "Host: evil.example\r\n";
  const auto origin = [&host](const std::string& value) {
    return host + "Origin: " + value + "\r\n";
  };
  struct Case {
    bool check_host;
    bool own_pages;
    std::vector<std::string> accepted;
    std::vector<std::string> refused;
  };
  for (const Case& c :
       {Case{false, false, {"", evil, own, origin("http://evil.example")}, {}},
        Case{true,
             false,
             {host},
             {"", evil, own, origin("http://evil.example"), origin("null"),
              "Host: 127.0.0.1:80\r\norigin: x\r\n", host + evil}},
        Case{false,
             true,
             {"", evil, own, origin("https://localhost:1"),  // Behind a proxy with TLS.
              "Host: LocalHost\r\nOrigin: http://localhost\r\n"},
             {origin("http://evil.example"), origin("null"), origin("http://localhost"),
              origin("http://localhost:10"), origin("localhost:1"), origin("http://127.0.0.1:1"),
              origin("http://localhost:1.evil.example"), own + host,
              own + "Origin: http://evil.example\r\n", "Origin: http://localhost:1\r\n",
              "Origin: http://\r\n"}},
        Case{true, true, {host, own}, {evil, evil + "Origin: http://evil.example\r\n"}}}) {
    Make({.check_host = c.check_host, .own_pages = c.own_pages});
    for (const std::string& headers : c.accepted) {
      EXPECT_EQ(Status(headers), 200) << headers;
    }
    for (const std::string& headers : c.refused) {
      for (const char* method : {"GET", "POST", "OPTIONS"}) {
        HttpClient client(*http_);
        EXPECT_EQ(
            client.Ask(std::string(method) + " /hello HTTP/1.1\r\n" + headers + "\r\n").status, 403)
            << headers;
        EXPECT_EQ(client.Reply().status, 0);
      }
    }
  }
}

TEST_F(HttpTest, AHeadThatCanBeReadInTwoWaysIsRefused) {
  for (const char* line :
       {"Transfer-Encoding : chunked\r\n", "Content-Length : 3\r\n", "Content-Length\t: 3\r\n",
        "X-A: 1\r\n folded\r\n", "X-A: 1\r\n\tfolded: 2\r\n", "X-A: 1\rX-B: 2\r\n", "X-A: 1\r\r\n",
        "X-A: 1\nX-B: 2\r\n", "no colon\r\n", "nocolon\r\n", ": no name\r\n", "X-A: \x01\r\n",
        "X\x01: 1\r\n", "X(a): 1\r\n"}) {
    EXPECT_EQ(Status(std::string("Host: localhost\r\n") + line), 400) << line;
    EXPECT_EQ(Status(std::string(line) + "Host: localhost\r\n"), 400) << line;
  }
  for (const char* line :
       {"X-A:\r\n", "X-A:1\r\n", "X-A: \t 1 \r\n", "X-A: a:b\r\n", "X!#$%&'*+-.^_`|~9: \xff\r\n"}) {
    EXPECT_EQ(Status(std::string("Host: localhost\r\n") + line), 200) << line;
  }
}

TEST_F(HttpTest, ABadHeadIsOfItsRequestAlone) {
  HttpClient client(*http_);
  EXPECT_EQ(client.Ask("GET /a%20b HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
  EXPECT_EQ(client.Ask("GET /a%20b HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n").status, 400);
}

TEST_F(HttpTest, WhichHostsAreThisMachine) {
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1", "127.9.8.7:80",
                           "127.0.0.1:", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"", ":", "127.0.0.1:@evil", "127.0.0.1:80@evil", "127.0.0.1:80:90",
                           "localhost:x", "[::1]:x.evil", "[::1]x", "[::1", "[::1]:80:", "[::2]",
                           "::1", "10.0.0.1", "127.0.0.1.evil.example"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST_F(HttpTest, RefusalsHaveTheFormOfTheirServer) {
  Make({.refused = [](int status, const std::string& message) {
    return HttpReply{.status = status, .type = "x/y", .body = "<" + message + ">"};
  }});
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
