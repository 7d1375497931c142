// What clients with a token, with a wrong one, and without one leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/server/server_fixture.h"

namespace wq {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenTraceTest : public testing::Test, public ServerFixture {
 protected:
  std::string Secret(const std::string& name) const {
    std::string path = dir_ / name;
    std::ofstream(path) << name << "\n";
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return path;
  }
  ServerOptions Options() const {
    return {.control_socket = true,
            .address = "127.0.0.1:0",
            .token_file = Secret("operator"),
            .viewer_token_file = Secret("viewer")};
  }
  std::string PostTcp(const std::string& call, const std::string& token,
                      const std::string& body) const {
    const std::string headers = "Host: localhost\r\nAuthorization: Bearer " + token + "\r\n";
    return Say(ConnectTcp(server_->port()), PostOf("/wq.v1." + call, body, headers));
  }
  std::vector<json> Lines() const {
    std::vector<json> lines;
    std::ifstream file(audit_);
    for (std::string line; std::getline(file, line);) {
      lines.push_back(json::parse(line));
    }
    return lines;
  }

  const std::string audit_ = dir_ / "audit.jsonl";
};

TEST_F(TokenTraceTest, ALineNamesTheRoleAndTheTokensFile) {
  ServerOptions options = Options();
  options.audit_log = audit_;
  Serve(options);
  const std::string add = R"({"queue": "pods", "keys": ["YQ==", "Yg=="]})";
  EXPECT_EQ(StatusOf(PostTcp("Queue/Add", "operator", add)), 200);
  EXPECT_EQ(StatusOf(PostTcp("Queue/Add", "viewer", add)), 403);
  EXPECT_EQ(StatusOf(Post("/wq.v1.Queue/Add", R"({"queue": "nope", "keys": ["YQ=="]})")), 404);
  const std::vector<json> lines = Lines();
  ASSERT_EQ(lines.size(), 4U);  // With that of the opening.
  EXPECT_EQ(lines[1]["call"], "Queue.Add");
  EXPECT_EQ(lines[1]["role"], "operator");
  EXPECT_EQ(lines[1]["token"], options.token_file);
  EXPECT_EQ(lines[1]["request"]["keys"], json({"a", "b"}));
  EXPECT_FALSE(lines[1].contains("status"));
  EXPECT_THAT(lines[2]["peer"].get<std::string>(), HasSubstr("unix:"));
  EXPECT_EQ(lines[2]["role"], "operator");
  EXPECT_FALSE(lines[2].contains("token"));
  EXPECT_EQ(lines[3]["status"], "NotFound");
}

TEST_F(TokenTraceTest, WrongTokensHaveOneLineAMinuteAndAreCounted) {
  ServerOptions options = Options();
  options.audit_log = audit_;
  options.metrics = [] { return std::string(); };
  Serve(options);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(
        StatusOf(PostTcp("Queue/Counts", "guess-" + std::to_string(i), R"({"queue": "pods"})")),
        401);
  }
  const std::vector<json> lines = Lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["call"], "Token.Wrong");
  EXPECT_EQ(lines[1]["peer"], "ipv4:127.0.0.1");
  EXPECT_EQ(lines[1]["count"], 1);
  EXPECT_THAT(Say(ConnectUnix(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr("\nwq_server_wrong_tokens_total 20\n"));
}

TEST_F(TokenTraceTest, WithoutAnAuditLogAWrongTokenIsAWarning) {
  Mutex mu;
  std::vector<std::string> warnings;
  ServerOptions options = Options();
  options.warn = [&](const std::string& line) {
    const MutexLock lock(mu);
    warnings.push_back(line);
  };
  Serve(options);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(StatusOf(PostTcp("Queue/Counts", "guess", R"({"queue": "pods"})")), 401);
  }
  const MutexLock lock(mu);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("ipv4:127.0.0.1")));
}

TEST_F(TokenTraceTest, SnapshotsAreMadeOnTheControlSocketOnly) {
  Serve(Options());
  const std::string body = R"({"directory": ")" + dir_ / "snapshots" + R"(", "name": "first"})";
  EXPECT_EQ(StatusOf(PostTcp("Admin/CreateSnapshot", "operator", body)), 501);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "snapshots"));
  EXPECT_THAT(Post("/wq.v1.Admin/CreateSnapshot", body), HasSubstr("snapshots/first\""));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "snapshots/first"));
}

}  // namespace
}  // namespace wq
