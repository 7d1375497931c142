// Limits on hand-outs: set and read on the queue, over the owner's socket, and over HTTP.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/server/server_fixture.h"
#include "wq/queue_access.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;

enum class Access { kDirect, kLive };

class LimitsTest : public ::testing::TestWithParam<Access>, public ServerFixture {
 protected:
  LimitsTest() {
    Serve({.control_socket = true});
    if (GetParam() == Access::kDirect) {
      access_ = AccessTo(pods_);
      return;
    }
    std::unique_ptr<LiveStore> live;
    EXPECT_TRUE(LiveStore::Connect(store_dir_, &live).ok());
    access_ = live->Access("pods", false);
  }
  std::map<std::string, GroupStatus> Read(const std::vector<std::string>& groups = {}) {
    std::map<std::string, GroupStatus> limits;
    const Status s = access_->GetLimits(groups, &limits);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return limits;
  }
  void Hold(const std::string& key, const std::string& group) {
    ASSERT_TRUE(pods_->Add(key, {.group = group}).ok());
    std::vector<HeldKey> held;
    ASSERT_TRUE(pods_->TryGet(1, &held).ok());
    ASSERT_EQ(held.at(0).key, key);
  }

  std::unique_ptr<QueueAccess> access_;
};

TEST_P(LimitsTest, AreSetReadAndEnded) {
  EXPECT_THAT(Read(), IsEmpty());
  const GroupLimits limits{
      .max_processing = 1, .rate = {.per_second = 0.25, .burst = 3}, .weight = 7};
  const std::string group("g\0\xff", 3);
  ASSERT_TRUE(access_->SetLimits(group, limits).ok());
  ASSERT_TRUE(access_->SetLimits("", GroupLimits{.max_processing = 9}).ok());
  Hold("a", group);
  ASSERT_TRUE(pods_->Add("b", {.group = group}).ok());
  std::map<std::string, GroupStatus> read = Read();
  EXPECT_THAT(read, ElementsAre(Key(""), Key(group)));
  EXPECT_EQ(read[""].limits.max_processing, 9U);
  EXPECT_EQ(read[""].limits.rate, Rate());
  EXPECT_EQ(read[""].processing, 1U);
  EXPECT_FALSE(read[""].held_back);
  EXPECT_EQ(read[group].limits, limits);
  EXPECT_TRUE(read[group].own_limits);
  EXPECT_EQ(read[group].processing, 1U);
  EXPECT_TRUE(read[group].held_back);
  EXPECT_EQ(read[group].next_in, std::nullopt);
  EXPECT_EQ(pods_->Counts().held_back, 1U);
  ASSERT_TRUE(access_->SetLimits(group, std::nullopt).ok());
  ASSERT_TRUE(access_->SetLimits("", std::nullopt).ok());
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_EQ(pods_->Counts().held_back, 0U);
}

TEST_P(LimitsTest, OfAskedGroupsWithoutLimitsToo) {
  ASSERT_TRUE(access_->SetLimits("slow", GroupLimits{.rate = {.per_second = 0.001}}).ok());
  Hold("a", "slow");
  ASSERT_TRUE(pods_->Add("b", {.group = "slow"}).ok());
  std::map<std::string, GroupStatus> read = Read({"slow", "none"});
  EXPECT_THAT(read, ElementsAre(Key("none"), Key("slow")));
  EXPECT_FALSE(read["none"].own_limits);
  EXPECT_EQ(read["none"].limits, GroupLimits());
  EXPECT_TRUE(read["slow"].held_back);
  ASSERT_TRUE(read["slow"].next_in.has_value());
  EXPECT_GT(*read["slow"].next_in, std::chrono::seconds(500));
  EXPECT_LE(*read["slow"].next_in, std::chrono::seconds(1000));
}

TEST_P(LimitsTest, BadOnesAreRefused) {
  for (const GroupLimits& bad :
       {GroupLimits{.weight = kMaxWeight + 1}, GroupLimits{.rate = {.per_second = -1}},
        GroupLimits{.rate = {.per_second = kMaxRate * 2}},
        GroupLimits{.rate = {.per_second = 1, .burst = kMaxBurst + 1}}}) {
    EXPECT_EQ(access_->SetLimits("g", bad).code(), StatusCode::kInvalidArgument);
  }
  const std::string long_group(kMaxGroupBytes + 1, 'g');
  EXPECT_EQ(access_->SetLimits(long_group, GroupLimits()).code(), StatusCode::kInvalidArgument);
  std::map<std::string, GroupStatus> limits;
  EXPECT_EQ(access_->GetLimits(std::vector<std::string>{long_group}, &limits).code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_P(LimitsTest, ManyGroupsComeInSeveralAnswers) {
  ASSERT_TRUE(pods_->SetLimits("", GroupLimits{.max_processing = 5}).ok());
  std::vector<std::string> groups;
  for (int i = 0; i < 2500; ++i) {
    groups.push_back("g" + std::to_string(i));
    ASSERT_TRUE(pods_->SetLimits(groups.back(), GroupLimits{.max_processing = 5}).ok());
  }
  EXPECT_EQ(Read().size(), 2501U);
  EXPECT_EQ(Read(groups).size(), 2500U);
}

INSTANTIATE_TEST_SUITE_P(Ways, LimitsTest, ::testing::Values(Access::kDirect, Access::kLive),
                         [](const auto& way) {
                           return way.param == Access::kDirect ? "Direct" : "Live";
                         });

class LimitsOverHttpTest : public ::testing::Test, public ServerFixture {
 protected:
  nlohmann::json Call(const std::string& name, const std::string& json) const {
    const std::string answer = Post("/wq.v1.Admin/" + name, json);
    return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
};

TEST_F(LimitsOverHttpTest, TheProtocolIsPlain) {
  Serve();
  EXPECT_TRUE(Call("SetLimits", R"({"queue": "pods", "limits": {"max_processing": 2}})").empty());
  EXPECT_TRUE(Call("SetLimits", R"({"queue": "pods", "group": "/w==",
                   "limits": {"rate": {"per_second": 0.5}}})")
                  .empty());
  const auto all = Call("GetLimits", R"({"queue": "pods"})");
  ASSERT_EQ(all["groups"].size(), 2U);
  EXPECT_EQ(all["more"], false);
  EXPECT_EQ(all["groups"][0]["group"], "");
  EXPECT_EQ(all["groups"][0]["limits"]["max_processing"], 2);
  EXPECT_EQ(all["groups"][0]["limits"]["weight"], 1);
  EXPECT_EQ(all["groups"][1]["group"], "/w==");
  EXPECT_EQ(all["groups"][1]["limits"]["rate"]["per_second"], 0.5);
  EXPECT_EQ(all["groups"][1]["limits"]["rate"]["burst"], 1);
  EXPECT_EQ(all["groups"][1]["own_limits"], true);
  const auto first = Call("GetLimits", R"({"queue": "pods", "limit": 1})");
  EXPECT_EQ(first["groups"].size(), 1U);
  EXPECT_EQ(first["more"], true);
  const auto second = Call("GetLimits", R"({"queue": "pods", "limit": 1, "after": ""})");
  EXPECT_EQ(second["groups"][0]["group"], "/w==");
  EXPECT_EQ(second["more"], false);
  EXPECT_EQ(Call("SetLimits", R"({"queue": "pods", "limits": {"weight": 1001}})")["code"],
            "InvalidArgument");
  EXPECT_EQ(Call("SetLimits", R"({"queue": "none"})")["code"], "NotFound");
  EXPECT_EQ(Call("GetLimits", R"({"queue": "none"})")["code"], "NotFound");
}

TEST_F(LimitsOverHttpTest, TheOptionsLimitsOfTheQueueAreShown) {
  Queue* bounded = nullptr;
  ASSERT_TRUE(store_->OpenQueue("bounded", {.limits = {.max_processing = 3}}, &bounded).ok());
  Serve();
  const auto all = Call("GetLimits", R"({"queue": "bounded"})");
  ASSERT_EQ(all["groups"].size(), 1U);
  EXPECT_EQ(all["groups"][0]["limits"]["max_processing"], 3);
  EXPECT_EQ(all["groups"][0]["own_limits"], false);
}

TEST_F(LimitsOverHttpTest, AViewerMayReadThemOnly) {
  Serve({.control_socket = true, .read_only = true});
  EXPECT_EQ(StatusOf(Post("/wq.v1.Admin/SetLimits", R"({"queue": "pods"})")), 403);
  EXPECT_EQ(StatusOf(Post("/wq.v1.Admin/GetLimits", R"({"queue": "pods"})")), 200);
}

}  // namespace
}  // namespace wq
