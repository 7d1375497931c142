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

constexpr const char* kPeer = "ipv4:192.0.2.7:4711";

TEST_F(CallGuardTest, WhoMayDoWhat) {
  using enum CallGuard::Client;
  using enum CallGuard::Role;
  using enum CallGuard::Verdict;
  struct Case {
    bool has_tokens;
    bool read_only;
    Client client;
    const char* authorization;
    CallGuard::Role role;
    Verdict reading;
    Verdict change;
  };
  const std::string token = Secret("token", "first");
  const std::string viewer = Secret("viewer", "second");
  for (const Case& c : {Case{false, false, kControlSocket, "", kOperator, kPass, kPass},
                        Case{false, false, kTcp, "", kOperator, kPass, kPass},
                        Case{false, false, kTcp, "Bearer any", kOperator, kPass, kPass},
                        Case{false, true, kTcp, "", kOperator, kPass, kForbidden},
                        Case{true, false, kControlSocket, "", kOperator, kPass, kPass},
                        Case{true, false, kTcp, "Bearer first", kOperator, kPass, kPass},
                        Case{true, false, kTcp, "Bearer second", kViewer, kPass, kForbidden},
                        Case{true, false, kTcp, "", kNone, kUnknown, kUnknown},
                        Case{true, false, kTcp, "Bearer", kNone, kUnknown, kUnknown},
                        Case{true, false, kTcp, "Bearer firs", kNone, kUnknown, kUnknown},
                        Case{true, false, kTcp, "Bearer secondd", kNone, kUnknown, kUnknown},
                        Case{true, false, kTcp, "second", kNone, kUnknown, kUnknown},
                        Case{true, true, kControlSocket, "", kOperator, kPass, kForbidden},
                        Case{true, true, kTcp, "Bearer first", kOperator, kPass, kForbidden},
                        Case{true, true, kTcp, "Bearer other", kNone, kUnknown, kUnknown}}) {
    SCOPED_TRACE(std::string(c.has_tokens ? "tokens " : "") + (c.read_only ? "read-only " : "") +
                 c.authorization);
    CallGuard guard({.token_file = c.has_tokens ? token : "",
                     .viewer_token_file = c.has_tokens ? viewer : "",
                     .read_only = c.read_only});
    if (c.has_tokens && c.client == kTcp) {
      EXPECT_EQ(guard.Ask({c.client, c.authorization, false, kPeer}).verdict, kUnknown)
          << "before Load";
    }
    ASSERT_TRUE(guard.Load().ok());
    EXPECT_EQ(guard.RoleOf(c.client, c.authorization), c.role);
    for (const bool changes : {false, true}) {
      const CallGuard::Answer answer = guard.Ask({c.client, c.authorization, changes, kPeer});
      const Verdict verdict = changes ? c.change : c.reading;
      EXPECT_EQ(answer.verdict, verdict) << changes;
      EXPECT_EQ(guard.Judge(c.client, c.role, changes).verdict, verdict) << changes;
      EXPECT_EQ(answer.why.code(), verdict == kUnknown     ? StatusCode::kUnauthenticated
                                   : verdict == kForbidden ? StatusCode::kNotSupported
                                                           : StatusCode::kOk);
    }
  }
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
  const auto guess = [&] { guard.Ask({Client::kTcp, "Bearer x", false, kPeer}); };
  guard.Ask({Client::kTcp, "", false, kPeer});  // None is not a wrong one.
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
