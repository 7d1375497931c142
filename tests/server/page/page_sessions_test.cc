// Log-ins to the live page: their cookies, their number and their age.

#include "server/page/page_sessions.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using ::testing::MatchesRegex;
using Role = CallGuard::Role;

class PageSessionsTest : public ::testing::Test {
 protected:
  // What a browser sends after the answer that had this header.
  std::string LogIn(Role role) {
    std::string header;
    EXPECT_TRUE(sessions_.Begin(role, &header).ok());
    return header.substr(0, header.find(';'));
  }
  ManualClock clock_;
  PageSessions sessions_{{.clock = &clock_, .max_sessions = 3, .max_age = hours(12)}};
};

TEST_F(PageSessionsTest, ACookieIsRandomAndOutOfReachOfScriptsAndOfOtherSites) {
  std::set<std::string> cookies;
  for (int i = 0; i < 100; ++i) {
    std::string header;
    ASSERT_TRUE(sessions_.Begin(Role::kOperator, &header).ok());
    EXPECT_THAT(header, MatchesRegex("wq_session=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict"));
    cookies.insert(header);
  }
  EXPECT_EQ(cookies.size(), 100U);
}

TEST_F(PageSessionsTest, EachSessionHasItsRole) {
  const std::string viewer = LogIn(Role::kViewer);
  const std::string someone = LogIn(Role::kOperator);
  EXPECT_EQ(sessions_.RoleOf(viewer), Role::kViewer);
  EXPECT_EQ(sessions_.RoleOf(someone), Role::kOperator);
  EXPECT_EQ(sessions_.RoleOf("a=b; " + viewer + "; c=d"), Role::kViewer);
  EXPECT_EQ(sessions_.RoleOf("a=b;" + viewer), Role::kViewer);
  EXPECT_EQ(sessions_.RoleOf("wq_session=old; " + viewer), Role::kViewer);
}

TEST_F(PageSessionsTest, OtherCookiesAreNoSession) {
  const std::string cookie = LogIn(Role::kOperator);
  std::string changed = cookie;
  changed.back() = changed.back() == '0' ? '1' : '0';
  for (const std::string& text :
       {std::string(), std::string("wq_session="), std::string("wq_session"), std::string(";;=;"),
        changed, cookie + "0", cookie.substr(0, cookie.size() - 1), "x" + cookie, "a=" + cookie,
        "WQ_SESSION" + cookie.substr(10)}) {
    EXPECT_EQ(sessions_.RoleOf(text), Role::kNone) << text;
  }
}

TEST_F(PageSessionsTest, ASessionEndsByLogOutOrAge) {
  const std::string first = LogIn(Role::kOperator);
  const std::string second = LogIn(Role::kOperator);
  sessions_.End(first);
  EXPECT_EQ(sessions_.RoleOf(first), Role::kNone);
  clock_.Advance(hours(12) - microseconds(1));
  EXPECT_EQ(sessions_.RoleOf(second), Role::kOperator);
  clock_.Advance(microseconds(1));
  EXPECT_EQ(sessions_.RoleOf(second), Role::kNone);
  const std::string third = LogIn(Role::kViewer);
  sessions_.EndAll();
  EXPECT_EQ(sessions_.RoleOf(third), Role::kNone);
}

TEST_F(PageSessionsTest, WithTooManyTheOldestEnds) {
  std::vector<std::string> cookies;
  for (int i = 0; i < 5; ++i) {
    cookies.push_back(LogIn(Role::kOperator));
  }
  for (size_t i = 0; i < cookies.size(); ++i) {
    EXPECT_EQ(sessions_.RoleOf(cookies[i]), i < 2 ? Role::kNone : Role::kOperator) << i;
  }
}

}  // namespace
}  // namespace wq
