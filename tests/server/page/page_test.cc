// The live page of a server: its files, its headers, its log-in, and whom it refuses.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/page/embedded_files.h"
#include "tests/server/server_fixture.h"

namespace wq {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHost = "Host: localhost\r\n";
constexpr const char* kGetStore = "/wq.v1.Admin/GetStore";
constexpr const char* kAdd = "/wq.v1.Queue/Add";
constexpr const char* kKeyA = R"({"queue": "pods", "keys": ["YQ=="]})";

// The first value of a header; "": there is none.
std::string HeaderOf(const std::string& answer, const std::string& name) {
  const std::string head = answer.substr(0, answer.find("\r\n\r\n") + 2);
  const size_t begin = head.find("\r\n" + name + ": ");
  if (begin == std::string::npos) {
    return "";
  }
  const size_t value = begin + name.size() + 4;
  return head.substr(value, head.find("\r\n", value) - value);
}

std::string BodyOf(const std::string& answer) {
  return answer.substr(std::min(answer.size(), answer.find("\r\n\r\n") + 4));
}

class PageTest : public ::testing::Test, public ServerFixture {
 protected:
  PageTest() { ServePage({}); }

  void ServePage(ServerOptions options) {
    options.page = true;
    if (options.http_address.empty()) {
      options.http_address = "127.0.0.1:0";
    }
    Serve(options);
  }
  void ServeWithTokens() {
    ServePage({.token_file = Secret("token", "secret"),
               .viewer_token_file = Secret("viewer", "look"),
               .metrics = [] { return std::string(); }});
  }
  std::string PostTcp(const std::string& path, const std::string& json,
                      const std::string& headers = "") const {
    return Say(ConnectTcp(), PostOf(path, json, kHost + headers));
  }
  std::string LogIn(const std::string& token) const {
    return PostTcp("/ui/login", R"({"token": ")" + token + "\"}");
  }
  // The header with which a browser that has logged in makes its requests.
  std::string CookieOf(const std::string& token) const {
    const std::string cookie = HeaderOf(LogIn(token), "Set-Cookie");
    return "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
  }
  nlohmann::json Session(const std::string& headers = "") const {
    return nlohmann::json::parse(BodyOf(Get("/ui/session", kHost + headers)));
  }
};

// --- Files ---

TEST_F(PageTest, ServesItsFiles) {
  ASSERT_FALSE(EmbeddedFiles().empty());
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    const std::string answer = Get("/ui/" + std::string(file.name));
    EXPECT_EQ(StatusOf(answer), 200) << file.name;
    EXPECT_EQ(BodyOf(answer), std::string(reinterpret_cast<const char*>(file.bytes), file.size));
    EXPECT_EQ(HeaderOf(answer, "Cache-Control"), "no-cache");
    EXPECT_NE(HeaderOf(answer, "Content-Type"), "application/octet-stream") << file.name;
  }
  const std::string index = Get("/ui/?queue=pods&q=%3Cscript%3E");
  EXPECT_EQ(BodyOf(index), BodyOf(Get("/ui/index.html")));
  EXPECT_EQ(HeaderOf(index, "Content-Type"), "text/html; charset=utf-8");
  for (const char* path : {"/", "/ui"}) {
    EXPECT_EQ(StatusOf(Get(path)), 302);
    EXPECT_EQ(HeaderOf(Get(path), "Location"), "/ui/");
  }
}

TEST_F(PageTest, AFileThatTheBrowserHasIsNotSentAgain) {
  const std::string tag = HeaderOf(Get("/ui/"), "ETag");
  EXPECT_EQ(tag.size(), 34U);
  for (const std::string& header : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const std::string answer =
        Get("/ui/", std::string(kHost) + "If-None-Match: " + header + "\r\n");
    EXPECT_EQ(StatusOf(answer), 304) << header;
    EXPECT_EQ(BodyOf(answer), "");
    EXPECT_EQ(HeaderOf(answer, "ETag"), tag);
  }
  EXPECT_EQ(StatusOf(Get("/ui/", std::string(kHost) + "If-None-Match: \"other\"\r\n")), 200);
}

TEST_F(PageTest, NoPathLeadsOutOfTheFiles) {
  for (const char* path :
       {"/ui/../etc/passwd", "/ui/%2e%2e/%2e%2e/etc/passwd", "/ui//etc/passwd", "/ui/..%2f..%2fx",
        "/ui/index.html/", "/ui/index.html%00.js", "/ui/%2fetc%2fpasswd", "//ui/", "/ui/./"}) {
    EXPECT_EQ(StatusOf(Get(path)), 404) << path;
  }
}

TEST_F(PageTest, ALogInIsSmallAndEachWrongTokenIsCounted) {
  ServeWithTokens();
  EXPECT_EQ(StatusOf(PostTcp("/ui/login", std::string(20000, '['))), 400);
  EXPECT_EQ(StatusOf(LogIn("wrong")), 401);
  EXPECT_EQ(Session("Authorization: Bearer wrong\r\n")["role"], "none");
  EXPECT_EQ(Session("Authorization: Bearer look\r\n")["role"], "viewer");
  EXPECT_THAT(Get("/metrics"), HasSubstr("\nwq_server_wrong_tokens_total 2\n"));
}

// --- Headers ---

TEST_F(PageTest, EveryAnswerHasTheHeaders) {
  const std::vector<std::string> answers = {
      Get("/"),
      Get("/ui/"),
      Get("/ui/session"),
      Get("/ui/nothing"),
      Get("/healthz"),
      Get("/ui/", "Host: evil.example\r\n"),
      Get("/ui/", std::string(kHost) + "Origin: http://evil.example\r\n"),
      PostTcp(kGetStore, "{}"),
      PostTcp(kGetStore, "{"),
      PostTcp("/ui/login", "{}"),
      PostTcp("/ui/logout", "{}"),
      Say(ConnectTcp(), "DELETE /ui/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
  };
  for (const std::string& answer : answers) {
    SCOPED_TRACE(answer.substr(0, 40));
    EXPECT_NE(StatusOf(answer), 0);
    EXPECT_EQ(HeaderOf(answer, "Content-Security-Policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    EXPECT_EQ(HeaderOf(answer, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(HeaderOf(answer, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(HeaderOf(answer, "Cross-Origin-Opener-Policy"), "same-origin");
    EXPECT_EQ(HeaderOf(answer, "Cross-Origin-Resource-Policy"), "same-origin");
    EXPECT_NE(HeaderOf(answer, "Cache-Control"), "");
    EXPECT_EQ(HeaderOf(answer, "Access-Control-Allow-Origin"), "");
  }
}

TEST_F(PageTest, OnlyTheServersOwnPageMayAsk) {
  const std::string host = "localhost:" + std::to_string(server_->http_port());
  const auto status = [&](const std::string& origin) {
    return StatusOf(
        Say(ConnectTcp(), PostOf(kAdd, kKeyA, "Host: " + host + "\r\nOrigin: " + origin + "\r\n")));
  };
  EXPECT_EQ(status("http://" + host), 200);
  EXPECT_EQ(status("http://evil.example"), 403);
}

// --- Access ---

TEST_F(PageTest, WithoutATokenEverybodyHereIsAnOperator) {
  EXPECT_EQ(Session(), nlohmann::json::parse(
                           R"({"role": "operator", "read_only": false, "needs_token": false,
                               "version": ")" +
                           std::string(WQ_TEST_VERSION) + "\"}"));
  EXPECT_EQ(StatusOf(PostTcp(kAdd, kKeyA)), 200);
  EXPECT_EQ(pods_->Len(), 1U);
  EXPECT_EQ(HeaderOf(LogIn("any"), "Set-Cookie"), "");
}

TEST_F(PageTest, AReadOnlyServerSaysSo) {
  ServePage({.read_only = true});
  EXPECT_EQ(Session()["read_only"], true);
  EXPECT_EQ(StatusOf(PostTcp(kGetStore, "{}")), 200);
  EXPECT_EQ(StatusOf(PostTcp(kAdd, kKeyA)), 403);
  EXPECT_EQ(pods_->Len(), 0U);
}

TEST_F(PageTest, WithATokenNothingIsToldBeforeTheLogIn) {
  ServeWithTokens();
  EXPECT_EQ(Session()["role"], "none");
  EXPECT_EQ(Session()["needs_token"], true);
  EXPECT_EQ(StatusOf(Get("/ui/")), 200);
  for (const char* headers : {"", "Cookie: wq_session=0\r\n", "Authorization: Bearer wrong\r\n"}) {
    const std::string answer = PostTcp(kGetStore, "{}", headers);
    EXPECT_EQ(StatusOf(answer), 401);
    EXPECT_THAT(answer, Not(HasSubstr("pods")));
  }
  EXPECT_EQ(StatusOf(Get("/healthz")), 200);
  EXPECT_EQ(StatusOf(Get("/readyz")), 200);
}

TEST_F(PageTest, ALogInGivesACookieThatDoesWhatTheTokenMay) {
  ServeWithTokens();
  const std::string answer = LogIn("secret");
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_THAT(
      HeaderOf(answer, "Set-Cookie"),
      ::testing::MatchesRegex("wq_session=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict"));
  EXPECT_EQ(nlohmann::json::parse(BodyOf(answer))["role"], "operator");
  EXPECT_THAT(answer, Not(HasSubstr("secret")));
  const std::string cookie = CookieOf("secret");
  EXPECT_EQ(Session(cookie)["role"], "operator");
  EXPECT_EQ(StatusOf(PostTcp(kAdd, kKeyA, cookie)), 200);
  EXPECT_EQ(pods_->Len(), 1U);
  EXPECT_EQ(StatusOf(PostTcp(kAdd, kKeyA, "Authorization: Bearer secret\r\n")), 200);
}

TEST_F(PageTest, AViewerMayReadOnly) {
  ServeWithTokens();
  const std::string cookie = CookieOf("look");
  EXPECT_EQ(Session(cookie)["role"], "viewer");
  EXPECT_EQ(StatusOf(PostTcp(kGetStore, "{}", cookie)), 200);
  EXPECT_EQ(StatusOf(PostTcp("/wq.v1.Browse/GetOverview", "{}", cookie)), 200);
  EXPECT_EQ(StatusOf(PostTcp("/wq.v1.Browse/Search", R"({"queue": "pods"})", cookie)), 200);
  for (const char* path : {kAdd, "/wq.v1.Admin/Change", "/wq.v1.Admin/ChangeMatching",
                           "/wq.v1.Admin/Pause", "/wq.v1.Admin/DeleteQueue"}) {
    const std::string answer = PostTcp(path, R"({"queue": "pods"})", cookie);
    EXPECT_EQ(StatusOf(answer), 403) << path;
    EXPECT_THAT(answer, HasSubstr("a viewer's, who may only read"));
  }
  EXPECT_EQ(pods_->Len(), 0U);
  EXPECT_FALSE(pods_->Counts().paused);
}

TEST_F(PageTest, AWrongTokenIsRefused) {
  ServeWithTokens();
  for (const char* token :
       {"", "wrong", "secret ", "Secret", "secre", "secrets", "Bearer secret"}) {
    const std::string answer = LogIn(token);
    EXPECT_EQ(StatusOf(answer), 401) << token;
    EXPECT_EQ(HeaderOf(answer, "Set-Cookie"), "");
  }
  for (const char* body : {"", "{", "{}", "[]", R"({"token": 7})", R"({"token": null})", "\"x\""}) {
    EXPECT_EQ(StatusOf(PostTcp("/ui/login", body)), 400) << body;
  }
  EXPECT_EQ(StatusOf(Get("/ui/login")), 404);  // No GET changes anything.
}

TEST_F(PageTest, ALogOutEndsTheSession) {
  ServeWithTokens();
  const std::string cookie = CookieOf("secret");
  const std::string other = CookieOf("secret");
  const std::string answer = PostTcp("/ui/logout", "{}", cookie);
  EXPECT_EQ(nlohmann::json::parse(BodyOf(answer))["role"], "none");
  EXPECT_THAT(HeaderOf(answer, "Set-Cookie"), HasSubstr("Max-Age=0"));
  EXPECT_EQ(StatusOf(PostTcp(kGetStore, "{}", cookie)), 401);
  EXPECT_EQ(StatusOf(PostTcp(kGetStore, "{}", other)), 200);
}

TEST_F(PageTest, AReloadEndsTheLogIns) {
  ServeWithTokens();
  const std::string cookie = CookieOf("secret");
  Secret("token", "another");
  ASSERT_TRUE(server_->Reload().ok());
  EXPECT_EQ(StatusOf(PostTcp(kGetStore, "{}", cookie)), 401);
  EXPECT_EQ(StatusOf(LogIn("secret")), 401);
  EXPECT_EQ(StatusOf(LogIn("another")), 200);
}

TEST_F(PageTest, OtherMachinesNeedAToken) {
  std::unique_ptr<Server> server;
  const Status s = Server::Open(
      store_.get(), {.http_address = "0.0.0.0:0", .http_any_address = true, .page = true}, &server);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("token"));
  EXPECT_EQ(Server::Open(store_.get(), {.control_socket = true, .page = true}, &server).code(),
            StatusCode::kInvalidArgument);
  ServePage({.token_file = Secret("token", "secret"),
             .http_address = "0.0.0.0:0",
             .http_any_address = true});
  const std::string host = "Host: pods.example:9464\r\n";
  EXPECT_EQ(StatusOf(Get("/ui/", host)), 200);
  EXPECT_EQ(StatusOf(Get("/ui/", host + "Origin: http://pods.example:9464\r\n")), 200);
  EXPECT_EQ(StatusOf(Get("/ui/", host + "Origin: http://evil.example\r\n")), 403);
  EXPECT_EQ(StatusOf(Say(ConnectTcp(), PostOf(kGetStore, "{}", host))), 401);
}

// --- What it shows ---

TEST_F(PageTest, TheOverviewIsOfAllQueuesOrOfOne) {
  Queue* nodes = nullptr;
  ASSERT_TRUE(store_->OpenQueue("nodes", {}, &nodes).ok());
  ASSERT_TRUE(nodes->Add("n").ok());
  ASSERT_TRUE(nodes->Pause(std::chrono::hours(1)).ok());
  const auto overview = [&](const std::string& request) {
    return nlohmann::json::parse(BodyOf(PostTcp("/wq.v1.Browse/GetOverview", request)));
  };
  const nlohmann::json all = overview("{}");
  ASSERT_EQ(all["queues"].size(), 2U);
  EXPECT_EQ(all["queues"][0]["name"], "nodes");
  EXPECT_EQ(all["queues"][0]["counts"]["queued"], "1");
  EXPECT_NE(all["queues"][0]["oldest_added_at_us"], "0");
  EXPECT_NE(all["queues"][0]["paused_until_us"], "0");
  EXPECT_EQ(all["queues"][1]["oldest_added_at_us"], "0");
  EXPECT_EQ(all["findings"][0]["text"], "The queue is paused for a time.");
  EXPECT_EQ(all["directory"], store_dir_);
  EXPECT_EQ(all["health"]["code"], "CODE_OK");
  EXPECT_EQ(overview(R"({"queue": "pods"})")["queues"].size(), 1U);
  EXPECT_EQ(overview(R"({"queue": "none"})")["queues"].size(), 0U);
}

TEST_F(PageTest, TheSeriesAreOfAQueue) {
  const auto ask = [&](const std::string& request) {
    return PostTcp("/wq.v1.Browse/GetSeries", request);
  };
  const nlohmann::json hour = nlohmann::json::parse(BodyOf(ask(R"({"queue": "pods"})")));
  EXPECT_EQ(hour["step_us"], "10000000");
  for (const char* field :
       {"queued", "processing", "delayed", "failing", "quarantined", "adds", "dones", "failures",
        "oldest_age_seconds", "queue_seconds", "work_seconds"}) {
    EXPECT_EQ(hour[field].size(), 360U) << field;
  }
  EXPECT_EQ(StatusOf(ask(R"({"queue": "none"})")), 404);
  Serve({.control_socket = true});
  EXPECT_EQ(StatusOf(Post("/wq.v1.Browse/GetSeries", R"({"queue": "pods"})")), 501);
}

}  // namespace
}  // namespace wq
