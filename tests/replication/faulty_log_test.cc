// FaultyLog makes the calls fail that a test asks for, and only these.
#include "tests/support/faulty_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "storage/replication/memory_log.h"
#include "tests/replication/log_contract.h"

namespace wq::replication {
namespace {

using std::chrono::milliseconds;
using support::FaultyLog;

class FaultyLogTest : public testing::Test {
 protected:
  FaultyLogTest() { EXPECT_OK(log_->Acquire("a", milliseconds(60'000), &lease_)); }

  LogSequence Last() {
    LogState state;
    EXPECT_OK(log_->State(&state));
    return state.last;
  }

  const std::shared_ptr<storage::MemoryLog> log_ = std::make_shared<storage::MemoryLog>();
  FaultyLog link_{log_};
  LogLease lease_;
};

TEST_F(FaultyLogTest, TheNextCallsFailBeforeOrAfter) {
  link_.FailNext(2, FaultyLog::Fault::kBefore);
  for (int i = 0; i < 2; ++i) EXPECT_CODE(kIOError, link_.Append(lease_.epoch, 1, "a"));
  EXPECT_EQ(Last(), 0U);
  EXPECT_OK(link_.Append(lease_.epoch, 1, "a"));
  link_.FailNext(1, FaultyLog::Fault::kAfter);
  EXPECT_CODE(kIOError, link_.Append(lease_.epoch, 2, "b"));
  EXPECT_EQ(Last(), 2U);
  EXPECT_OK(link_.Append(lease_.epoch, 2, "b"));
  EXPECT_EQ(Last(), 2U);
}

TEST_F(FaultyLogTest, AnAnswerThatIsLostIsNotReturned) {
  ASSERT_OK(log_->Release(lease_));
  LogLease lease;
  link_.FailNext(1, FaultyLog::Fault::kAfter);
  EXPECT_CODE(kIOError, link_.Acquire("b", milliseconds(60'000), &lease));
  EXPECT_EQ(lease.epoch, 0U);
  EXPECT_CODE(kLocked, link_.Acquire("b", milliseconds(60'000), &lease));
}

TEST_F(FaultyLogTest, TheHookChoosesACall) {
  link_.SetHook([](std::string_view call) {
    return call == "Append" ? FaultyLog::Fault::kQuota : FaultyLog::Fault::kNone;
  });
  const Status s = link_.Append(lease_.epoch, 1, "a");
  EXPECT_CODE(kIOError, s);
  EXPECT_NE(s.message().find("no space"), std::string::npos) << s.ToString();
  EXPECT_EQ(Last(), 0U);
  EXPECT_OK(link_.Renew(&lease_));
}

TEST_F(FaultyLogTest, ACutLinkReachesNothingAndSeesNothing) {
  FaultyLog other(log_);
  Watch watch(&link_, 1);
  ASSERT_OK(watch.UntilOwner("a"));
  Status waited;
  LogEvents events;
  std::thread waiting([&] { waited = watch.follower().Next(2 * kPatience, &events); });
  link_.Cut(true);
  waiting.join();
  EXPECT_CODE(kIOError, waited);
  LogState state;
  EXPECT_CODE(kIOError, link_.State(&state));
  EXPECT_CODE(kIOError, link_.Append(lease_.epoch, 1, "a"));
  EXPECT_FALSE(link_.Members()[0].reachable);
  ASSERT_OK(other.Append(lease_.epoch, 1, "b"));
  EXPECT_CODE(kIOError, watch.follower().Next(milliseconds(1), &events));
  EXPECT_TRUE(events.entries.empty());
  link_.Cut(false);
  EXPECT_OK(watch.UntilEntries("1=b"));
}

}  // namespace
}  // namespace wq::replication
