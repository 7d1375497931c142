// What a handler gets of a request, which headers an answer has, and which origins may ask.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/http.h"
#include "tests/server/http/http_client.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpRequestTest : public ::testing::Test {
 protected:
  HttpRequestTest() { Make({}); }
  void Make(Http::Options options) {
    options.not_found = [](const std::string& request) {
      return HttpReply{.status = 404, .body = "no " + request};
    };
    options.max_request_bytes = 100'000;
    options.io_timeout = hours(1);
    options.idle_timeout = hours(1);
    http_ = std::make_unique<Http>(options);
    http_->Get("/a b", [](const HttpRequest& request) {
      return HttpReply{.body = request.path + "|" + request.query + "|" + request.cookie + "|" +
                               request.if_none_match,
                       .headers = {{"X-Own", "1"}, {"X-Both", "reply"}}};
    });
    http_->Get("/gone", [](const HttpRequest&) { return HttpReply{.status = 304}; });
  }
  // The status of a request with these headers.
  int Status(const std::string& headers) {
    return HttpClient(*http_).Ask("GET /a%20b HTTP/1.1\r\n" + headers + "\r\n").status;
  }
  std::unique_ptr<Http> http_;
};

TEST_F(HttpRequestTest, AHandlerGetsThePathTheQueryAndTheCookies) {
  HttpClient client(*http_);
  EXPECT_EQ(client
                .Ask("GET /a%20b?x=%26&y=1+2 HTTP/1.1\r\nCookie: a=1\r\nCookie: b=2\r\n"
                     "If-None-Match: \"t\"\r\n\r\n")
                .body,
            "/a b|x=%26&y=1+2|a=1; b=2|\"t\"");
  EXPECT_EQ(client.Ask("GET /a%20b HTTP/1.1\r\n\r\n").body, "/a b|||");
}

TEST_F(HttpRequestTest, AValueOfAQueryIsDecoded) {
  EXPECT_EQ(QueryValue("queue=a%20b%2Fc+d&x=1", "queue"), "a b/c d");
  EXPECT_EQ(QueryValue("x=1&queue=%C3%A4&queue=second", "queue"), "\xc3\xa4");
  EXPECT_EQ(QueryValue("que%75e=1", "queue"), "1");
  EXPECT_EQ(QueryValue("queue=100%", "queue"), "100%");
  EXPECT_EQ(QueryValue("queue=%4", "queue"), "%4");
  EXPECT_EQ(QueryValue("queue=%zz%4a%4A", "queue"), "%zzJJ");
  EXPECT_EQ(QueryValue("queue=%00", "queue"), std::string(1, '\0'));
  EXPECT_EQ(QueryValue("queue=a=b", "queue"), "a=b");
  for (const char* query :
       {"", "&", "&&=&", "queue", "queue=", "queues=1", "xqueue=1", "x=queue"}) {
    EXPECT_EQ(QueryValue(query, "queue"), "") << query;
  }
}

TEST_F(HttpRequestTest, AnAnswersOwnHeadersTakeTheirPlace) {
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

TEST_F(HttpRequestTest, WhichOriginsMayAsk) {
  const std::string own = "Host: localhost:1\r\nOrigin: http://localhost:1\r\n";
  const std::string foreign = "Host: localhost:1\r\nOrigin: http://evil.example\r\n";
  EXPECT_EQ(Status(own), 200);
  EXPECT_EQ(Status(foreign), 200);
  Make({.check_host = true});
  EXPECT_EQ(Status(own), 403);
  EXPECT_EQ(Status(foreign), 403);
  Make({.own_pages = true});
  EXPECT_EQ(Status(own), 200);
  EXPECT_EQ(Status(foreign), 403);
  EXPECT_EQ(Status("Origin: http://localhost:1\r\n"), 403);
  EXPECT_EQ(Status("Origin: http://\r\n"), 403);
  EXPECT_EQ(Status(own + "Host: localhost:1\r\n"), 403);
  Make({.check_host = true, .own_pages = true});
  EXPECT_EQ(Status(own), 200);
  EXPECT_EQ(Status("Host: evil.example\r\nOrigin: http://evil.example\r\n"), 403);
}

TEST_F(HttpRequestTest, AHeadThatCanBeReadInTwoWaysIsRefused) {
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

TEST_F(HttpRequestTest, ABadHeadIsOfItsRequestAlone) {
  HttpClient client(*http_);
  EXPECT_EQ(client.Ask("GET /a%20b HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
  EXPECT_EQ(client.Ask("GET /a%20b HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n").status, 400);
}

TEST_F(HttpRequestTest, WhichHostsAreThisMachine) {
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

}  // namespace
}  // namespace wq
