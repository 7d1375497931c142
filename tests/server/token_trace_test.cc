// What clients with a token, with a wrong one, and without one leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/server/server_fixture.h"

namespace wq {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  // Collects the lines of `log`.
  std::function<void(const std::string&)> Into(std::vector<std::string>* log) {
    return [this, log](const std::string& line) {
      const MutexLock lock(mu_);
      log->push_back(line);
    };
  }

  Mutex mu_;
};

TEST_F(TokenTraceTest, ALineNamesTheRoleAndTheTokensFile) {
  std::vector<std::string> lines;
  ServerOptions options = Options();
  options.log_change = Into(&lines);
  Serve(options);
  const std::string add = R"({"queue": "pods", "keys": ["YQ==", "Yg=="]})";
  EXPECT_EQ(StatusOf(PostTcp("Queue/Add", "operator", add)), 200);
  EXPECT_EQ(StatusOf(PostTcp("Queue/Add", "viewer", add)), 403);
  EXPECT_EQ(StatusOf(Post("/wq.v1.Queue/Add", R"({"queue": "nope", "keys": ["YQ=="]})")), 404);
  const MutexLock lock(mu_);
  EXPECT_THAT(lines, ElementsAre(AllOf(StartsWith("Queue.Add of ipv4:127.0.0.1:"),
                                       HasSubstr(" (operator, token " + options.token_file + "): "),
                                       EndsWith(R"(queue: "pods" keys: "a" keys: "b": Ok)")),
                                 AllOf(StartsWith("Queue.Add of unix:"), HasSubstr(" (operator): "),
                                       HasSubstr(R"(keys: "a": NotFound: )"))));
}

TEST_F(TokenTraceTest, WrongTokensHaveOneWarningAMinuteAndAreCounted) {
  std::vector<std::string> warnings;
  ServerOptions options = Options();
  options.warn = Into(&warnings);
  options.metrics = [] { return std::string(); };
  Serve(options);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(
        StatusOf(PostTcp("Queue/Counts", "guess-" + std::to_string(i), R"({"queue": "pods"})")),
        401);
  }
  EXPECT_THAT(Say(ConnectUnix(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr("\nwq_server_wrong_tokens_total 20\n"));
  const MutexLock lock(mu_);
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
