#include "server/net/wrong_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "wq/clock.h"

namespace wq {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

class WrongTokensTest : public testing::Test {
 protected:
  ManualClock clock_;
  std::vector<std::string> reports_;
  WrongTokens wrong_{{.clock = &clock_, .report = [this](const WrongTokens::Report& report) {
                        reports_.push_back(report.host + " " + std::to_string(report.count));
                      }}};
};

TEST_F(WrongTokensTest, AHostIsReportedOnceAMinute) {
  for (int port = 0; port < 1500; ++port) {
    wrong_.Note("ipv4:192.0.2.7:" + std::to_string(port));
  }
  wrong_.Note("ipv6:[2001:db8::1]:80");
  wrong_.Note("ipv6:[2001:db8::1]:81");
  EXPECT_THAT(reports_, ElementsAre("ipv4:192.0.2.7 1", "ipv6:[2001:db8::1] 1"));
  clock_.Advance(seconds(59));
  wrong_.Note("ipv4:192.0.2.7:80");
  EXPECT_EQ(reports_.size(), 2U);
  clock_.Advance(seconds(1));
  wrong_.Note("ipv4:192.0.2.7:80");
  EXPECT_EQ(reports_.back(), "ipv4:192.0.2.7 1501");
  EXPECT_EQ(wrong_.total(), 1504U);
}

TEST_F(WrongTokensTest, HostsBeyondTheBoundAreOneHost) {
  const auto host = [](size_t n) { return "ipv4:10.0." + std::to_string(n) + ":1"; };
  for (size_t n = 0; n < WrongTokens::kMaxHosts + 5; ++n) {
    wrong_.Note(host(n));
  }
  ASSERT_EQ(reports_.size(), WrongTokens::kMaxHosts + 1);
  EXPECT_EQ(reports_.back(), "others 1");
  wrong_.Note(host(0));  // It is known.
  EXPECT_EQ(reports_.size(), WrongTokens::kMaxHosts + 1);
  clock_.Advance(seconds(60));
  wrong_.Note("ipv4:10.1.1.1:1");  // The others are forgotten.
  EXPECT_EQ(reports_.back(), "ipv4:10.1.1.1 1");
  EXPECT_EQ(wrong_.total(), WrongTokens::kMaxHosts + 7);
}

TEST_F(WrongTokensTest, WithoutAReportTheyAreCounted) {
  WrongTokens counted({.clock = &clock_});
  counted.Note("unix:7");
  counted.Note("");
  EXPECT_EQ(counted.total(), 2U);
}

}  // namespace
}  // namespace wq
