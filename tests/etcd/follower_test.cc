// Followers of an EtcdLog: streams that break, histories that are compacted, entries that are
// erased.
#include <chrono>
#include <thread>

#include "tests/etcd/fixture.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST_F(EtcdTest, AFollowerReconnects) {
  StartOne();
  const auto follower = Impatient()->Follow(1);
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 3).ok());
  EXPECT_EQ(Text(Collect(follower.get(), 3).entries), Expected(1, 3));
  LogEvents events;
  ASSERT_TRUE(follower->Next(milliseconds(0), &events).ok());
  etcd_->Kill(0);
  EXPECT_TRUE(
      IsError(follower->Next(kTestPatience, &events), StatusCode::kIOError, {etcd_->endpoint(0)}));
  EXPECT_TRUE(IsError(follower->Next(kTestPatience, &events), StatusCode::kIOError,
                      {etcd_->endpoint(0), "nothing listens there"}));
  etcd_->Start(0);
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 4, 6).ok());
  EXPECT_EQ(Text(Collect(follower.get(), 3).entries), Expected(4, 6));
}

TEST_F(EtcdTest, AFollowerNoticesAMemberThatHangs) {
  StartOne();
  const auto follower = OpenLog(etcd_->Options("/wq/test"))->Follow(1);
  Collect(follower.get(), 0);
  LogEvents events;
  ASSERT_TRUE(UntilDone([&] { return follower->Next(milliseconds(100), &events); }).ok());
  etcd_->Stop(0);
  EXPECT_TRUE(IsError(follower->Next(kTestPatience, &events), StatusCode::kIOError,
                      {etcd_->endpoint(0), "no sign of life"}));
  etcd_->Continue(0);
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 1).ok());
  EXPECT_EQ(Text(Collect(follower.get(), 1).entries), Expected(1, 1));
}

// A quiet log is no reason for an error.
TEST_F(EtcdTest, AFollowerWaitsWhileNothingHappens) {
  StartOne();
  const auto follower = OpenLog(etcd_->Options("/wq/test"))->Follow(1);
  Collect(follower.get(), 0);
  LogEvents events;
  EXPECT_TRUE(follower->Next(milliseconds(4500), &events).ok());
  EXPECT_TRUE(events.entries.empty() && !events.owner && !events.successor);
}

TEST_F(EtcdTest, ASlowFollowerMissesNothingOverACompaction) {
  StartOne();
  const auto follower = log_->Follow(1);
  Collect(follower.get(), 0);
  LogEvents events;
  ASSERT_TRUE(follower->Next(milliseconds(0), &events).ok());
  // More than the stream takes without a reader.
  constexpr LogSequence kEntries = 300;
  for (LogSequence i = 1; i <= kEntries; ++i) {
    const std::string bytes(kMaxLogEntryBytes, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(log_->Append(owned_.epoch, i, bytes).ok());
  }
  etcd_->Compact();
  const std::vector<LogEntry> entries = Collect(follower.get(), kEntries).entries;
  ASSERT_EQ(entries.size(), kEntries);
  for (LogSequence i = 1; i <= kEntries; ++i) {
    ASSERT_EQ(entries[i - 1].sequence, i);
    ASSERT_EQ(entries[i - 1].bytes[0], static_cast<char>('a' + i % 26));
  }
}

TEST_F(EtcdTest, ErasedEntriesAreReplacedForAFollower) {
  StartOne();
  const auto watching = log_->Follow(1);
  const auto away = log_->Follow(1);
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 150).ok());
  EXPECT_EQ(Text(Collect(watching.get(), 150).entries), Expected(1, 150));
  EXPECT_EQ(Text(Collect(away.get(), 150).entries), Expected(1, 150));
  LogEvents events;
  ASSERT_TRUE(watching->Next(milliseconds(0), &events).ok());
  // The stream of this one breaks before the entries are erased.
  ASSERT_TRUE(away->Next(milliseconds(0), &events).ok());
  etcd_->Kill(0);
  EXPECT_EQ(away->Next(kTestPatience, &events).code(), StatusCode::kIOError);
  etcd_->Start(0);
  ASSERT_TRUE(UntilDone([&] { return log_->Release(owned_); }).ok());
  Own();
  // watching has reconnected.
  LogEvents seen = Collect(watching.get(), 0);
  ASSERT_TRUE(watching->Next(milliseconds(0), &events).ok());
  ASSERT_TRUE(log_->EraseFrom(owned_.epoch, 50).ok());
  ASSERT_TRUE(log_->Append(owned_.epoch, 50, "other").ok());
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 51, 52).ok());
  const std::string expected = "50:other " + Expected(51, 52);
  EXPECT_EQ(Text(Collect(watching.get(), 3).entries), expected);
  EXPECT_EQ(Text(Collect(away.get(), 3).entries), expected);
}

}  // namespace
}  // namespace wq
