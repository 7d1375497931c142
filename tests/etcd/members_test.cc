// EtcdLog on several members: some are killed, stopped, or were never there.
#include <chrono>

#include "tests/etcd/fixture.h"

namespace wq {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

TEST_F(EtcdTest, ADeadEndpointIsPassedOver) {
  etcd_ = std::make_unique<EtcdCluster>();
  EtcdOptions options = etcd_->Options("/wq/test");
  options.endpoints.insert(options.endpoints.begin(), {"127.0.0.1:1", "no-such-host.invalid:1"});
  log_ = OpenLog(options);
  Own();
  EXPECT_TRUE(AppendAll(log_.get(), owned_, 1, 10).ok());
  EXPECT_EQ(Text(Collect(log_->Follow(1).get(), 10).entries), Expected(1, 10));
  const std::vector<LogMember> members = log_->Members();
  ASSERT_EQ(members.size(), 3U);
  EXPECT_FALSE(members[0].reachable || members[1].reachable);
  EXPECT_THAT(members[0].problem, HasSubstr("127.0.0.1:1: nothing listens there"));
  EXPECT_THAT(members[1].problem, HasSubstr("no-such-host.invalid:1: "));
  EXPECT_TRUE(members[2].reachable && members[2].leads && members[2].problem.empty());
}

TEST_F(EtcdTest, AllEndpointsThatFailAreNamed) {
  EtcdOptions options = {.endpoints = {"127.0.0.1:1", "127.0.0.1:2"}, .prefix = "/wq/test"};
  options.request_timeout = milliseconds(400);
  log_ = OpenLog(options);
  LogState state;
  Status s;
  EXPECT_TRUE(support::Eventually([&] {  // On a busy machine the time is over before both refuse.
    s = log_->State(&state);
    return IsError(s, StatusCode::kIOError,
                   {"etcd 127.0.0.1:1: nothing listens there", "; etcd 127.0.0.1:2: nothing"});
  })) << s.ToString();
}

// Kills the leader, and stops another member, while an owner appends and a replica follows.
TEST_F(EtcdTest, MembersFailDuringAppends) {
  StartOne({.members = 3});
  const auto follower = log_->Follow(1);
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 100).ok());
  const size_t killed = etcd_->Leader();
  ASSERT_LT(killed, etcd_->size());
  LogEvents events = Collect(follower.get(), 100);
  etcd_->Kill(killed);
  Status s = AppendAll(log_.get(), owned_, 101, 200);
  ASSERT_TRUE(s.ok()) << s.ToString();
  for (LogEntry& entry : Collect(follower.get(), 100).entries) {
    events.entries.push_back(std::move(entry));
  }
  etcd_->Start(killed);
  const size_t stopped = etcd_->Leader();
  ASSERT_LT(stopped, etcd_->size());
  etcd_->Stop(stopped);
  s = AppendAll(log_.get(), owned_, 201, 300);
  EXPECT_TRUE(s.ok()) << s.ToString();
  for (LogEntry& entry : Collect(follower.get(), 100).entries) {
    events.entries.push_back(std::move(entry));
  }
  etcd_->Continue(stopped);
  EXPECT_EQ(AllOf(log_.get()), Expected(1, 300));
  EXPECT_EQ(Text(events.entries), Expected(1, 300));
  EXPECT_TRUE(UntilDone([this] { return log_->Renew(&owned_); }).ok());
}

TEST_F(EtcdTest, ALostMajorityIsNamed) {
  StartOne({.members = 3});
  log_ = Impatient();
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 1).ok());
  const size_t left = etcd_->Leader();
  ASSERT_LT(left, etcd_->size());
  for (size_t i = 0; i < etcd_->size(); ++i) {
    if (i != left) etcd_->Kill(i);
  }
  // The member that is left resigns when it has missed the others for a while.
  Status s;
  const auto deadline = steady_clock::now() + kTestPatience;
  do {
    s = log_->Append(owned_.epoch, 2, BytesOf(2));
    ASSERT_EQ(s.code(), StatusCode::kIOError) << s.ToString();
  } while (s.message().find("has no leader") == std::string::npos &&
           steady_clock::now() < deadline);
  EXPECT_THAT(s.message(), HasSubstr(etcd_->endpoint(left) + ": it has no leader"));
  const std::vector<LogMember> members = log_->Members();
  EXPECT_TRUE(members.at(left).reachable);
  EXPECT_FALSE(members[left].leads);
  EXPECT_FALSE(members[left].problem.empty());
  for (size_t i = 0; i < etcd_->size(); ++i) {
    etcd_->Launch(i);
  }
  etcd_->WaitUntilHealthy();
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 2, 3).ok());
  EXPECT_EQ(AllOf(log_.get()), Expected(1, 3));
}

}  // namespace
}  // namespace wq
