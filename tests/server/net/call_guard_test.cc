#include "server/net/call_guard.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/environment.h"
#include "wq/clock.h"

namespace wq {
namespace {

using Client = CallGuard::Client;
using Verdict = CallGuard::Verdict;

class CallGuardTest : public testing::Test {
 protected:
  std::string Secret(const std::string& name, const std::string& token) {
    std::string path = dir_ / name;
    std::ofstream(path) << token << "\n";
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return path;
  }

  const support::ScratchDirectory dir_;
};

TEST_F(CallGuardTest, WithoutTokensAllPass) {
  CallGuard guard({});
  ASSERT_TRUE(guard.Load().ok());
  for (const Client client : {Client::kControlSocket, Client::kTcp}) {
    EXPECT_EQ(guard.Ask({client, "", true, "ipv4:192.0.2.7:4711"}).verdict, Verdict::kPass);
    EXPECT_EQ(guard.Ask({client, "Bearer any", true, "ipv4:192.0.2.7:4711"}).verdict,
              Verdict::kPass);
  }
}

TEST_F(CallGuardTest, ViewersReadAndOperatorsChange) {
  CallGuard guard(
      {.token_file = Secret("token", "first"), .viewer_token_file = Secret("viewer", "second")});
  EXPECT_EQ(guard.Ask({Client::kTcp, "Bearer first", false, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kUnknown);
  ASSERT_TRUE(guard.Load().ok());
  EXPECT_EQ(guard.Ask({Client::kTcp, "Bearer first", true, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kPass);
  EXPECT_EQ(guard.Ask({Client::kTcp, "Bearer first", false, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kPass);
  EXPECT_EQ(guard.Ask({Client::kTcp, "Bearer second", false, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kPass);
  const CallGuard::Answer forbidden =
      guard.Ask({Client::kTcp, "Bearer second", true, "ipv4:192.0.2.7:4711"});
  EXPECT_EQ(forbidden.verdict, Verdict::kForbidden);
  EXPECT_EQ(forbidden.why.code(), StatusCode::kNotSupported);
  for (const char* other : {"", "Bearer", "Bearer firs", "Bearer secondd", "second"}) {
    EXPECT_EQ(guard.Ask({Client::kTcp, other, false, "ipv4:192.0.2.7:4711"}).verdict,
              Verdict::kUnknown)
        << other;
  }
  EXPECT_EQ(guard.Ask({Client::kControlSocket, "", true, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kPass);
}

TEST_F(CallGuardTest, NobodyChangesWhatIsReadOnly) {
  CallGuard guard({.token_file = Secret("token", "first"), .read_only = true});
  ASSERT_TRUE(guard.Load().ok());
  EXPECT_EQ(guard.Ask({Client::kTcp, "Bearer first", true, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kForbidden);
  EXPECT_EQ(guard.Ask({Client::kTcp, "Bearer first", false, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kPass);
  EXPECT_EQ(guard.Ask({Client::kTcp, "Bearer other", true, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kUnknown);
  EXPECT_EQ(guard.Ask({Client::kControlSocket, "", true, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kForbidden);
  EXPECT_EQ(guard.Ask({Client::kControlSocket, "", false, "ipv4:192.0.2.7:4711"}).verdict,
            Verdict::kPass);
}

TEST_F(CallGuardTest, ARoleIsJudgedAsItsToken) {
  CallGuard guard(
      {.token_file = Secret("token", "first"), .viewer_token_file = Secret("viewer", "second")});
  ASSERT_TRUE(guard.Load().ok());
  using Role = CallGuard::Role;
  EXPECT_EQ(guard.RoleOf(Client::kTcp, "Bearer first"), Role::kOperator);
  EXPECT_EQ(guard.RoleOf(Client::kTcp, "Bearer second"), Role::kViewer);
  EXPECT_EQ(guard.RoleOf(Client::kControlSocket, ""), Role::kOperator);
  Status why;
  EXPECT_EQ(guard.RoleOf(Client::kTcp, "Bearer third", &why), Role::kNone);
  EXPECT_EQ(why.code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(guard.Judge(Client::kTcp, Role::kOperator, true).verdict, Verdict::kPass);
  EXPECT_EQ(guard.Judge(Client::kTcp, Role::kViewer, false).verdict, Verdict::kPass);
  EXPECT_EQ(guard.Judge(Client::kTcp, Role::kViewer, true).verdict, Verdict::kForbidden);
  EXPECT_EQ(guard.Judge(Client::kTcp, Role::kNone, false).verdict, Verdict::kUnknown);
  CallGuard read_only({.read_only = true});
  EXPECT_EQ(read_only.Judge(Client::kTcp, Role::kOperator, true).verdict, Verdict::kForbidden);
  EXPECT_EQ(read_only.Judge(Client::kTcp, Role::kOperator, false).verdict, Verdict::kPass);
}

TEST_F(CallGuardTest, ViewersWithoutOperatorsAreRefused) {
  CallGuard guard({.viewer_token_file = Secret("viewer", "second")});
  const Status s = guard.Load();
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("/viewer"), std::string::npos) << s.message();
}

TEST_F(CallGuardTest, WrongTokensAreCountedAndWarnedOfOnceAMinute) {
  ManualClock clock;
  std::vector<std::string> warnings;
  CallGuard guard({.token_file = Secret("token", "first"),
                   .clock = &clock,
                   .warn = [&](const std::string& line) { warnings.push_back(line); }});
  ASSERT_TRUE(guard.Load().ok());
  const auto guess = [&] { guard.Ask({Client::kTcp, "Bearer x", false, "ipv4:192.0.2.7:4711"}); };
  guard.Ask({Client::kTcp, "", false, "ipv4:192.0.2.7:4711"});  // None is not a wrong one.
  for (int i = 0; i < 1000; ++i) {
    guess();
  }
  EXPECT_EQ(warnings, std::vector<std::string>{"a wrong token of ipv4:192.0.2.7:4711; 1 so far"});
  clock.Advance(std::chrono::seconds(59));
  guess();
  EXPECT_EQ(warnings.size(), 1U);
  clock.Advance(std::chrono::seconds(1));
  guess();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[1], "a wrong token of ipv4:192.0.2.7:4711; 1002 so far");
  EXPECT_EQ(guard.wrong_tokens(), 1002U);
}

}  // namespace
}  // namespace wq
