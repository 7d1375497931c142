// QueueOptions::on_ready: called after every change by which another Get may succeed or end.

#include <atomic>

#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using std::chrono::microseconds;

class ReadyTest : public QueueTest {
 protected:
  ReadyTest() {
    QueueOptions options = queue_options_;
    options.on_ready = [this] { ++calls_; };
    CloseAndOpen(options);
    calls_ = 0;
  }
  ~ReadyTest() override { store_.reset(); }  // Close calls on_ready.

  // The number of calls since the last Calls().
  int Calls() { return calls_.exchange(0); }

  std::atomic<int> calls_{0};
};

TEST_F(ReadyTest, IsCalledForAnAddButNotForADuplicate) {
  Add("a");
  EXPECT_EQ(Calls(), 1);
  Add("a");
  EXPECT_EQ(Calls(), 0);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Calls(), 0);
}

TEST_F(ReadyTest, IsCalledForDoneOnlyIfTheKeyIsQueuedAgain) {
  Add("a");
  EXPECT_EQ(Get(), "a");
  Add("a");
  EXPECT_EQ(Calls(), 1);  // The first Add; the second one waits for Done.
  EXPECT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(Calls(), 1);
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(Calls(), 0);
}

TEST_F(ReadyTest, IsCalledForADelayThatEnds) {
  ASSERT_TRUE(queue_->AddAfter("a", microseconds(10)).ok());
  EXPECT_EQ(Calls(), 0);
  clock_.Advance(microseconds(10));
  EXPECT_EQ(queue_->Len(), 1u);  // Fires it, if the timer has not.
  EXPECT_EQ(Calls(), 1);
}

TEST_F(ReadyTest, IsCalledForResume) {
  ASSERT_TRUE(queue_->Pause().ok());
  Add("a");
  Calls();
  EXPECT_EQ(Get(), "TimedOut");
  ASSERT_TRUE(queue_->Resume().ok());
  EXPECT_EQ(Calls(), 1);
  EXPECT_EQ(Get(), "a");
}

TEST_F(ReadyTest, IsCalledForAShutdownAndForTheLastKeyThen) {
  Add("a");
  Calls();
  queue_->ShutDown();
  EXPECT_EQ(Calls(), 1);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Calls(), 1);  // Other Gets end now, with ShuttingDown.
  queue_->Stop();
  EXPECT_EQ(Calls(), 1);
}

TEST_F(ReadyTest, MayCallTheQueue) {
  QueueOptions options = queue_options_;
  queue_ = nullptr;
  options.on_ready = [this] { calls_ = queue_ == nullptr ? 0 : static_cast<int>(queue_->Len()); };
  CloseAndOpen(options);
  Add("a");
  Add("b");
  EXPECT_EQ(Calls(), 2);
}

TEST_F(ReadyTest, IsCalledWhenShardsChangeHands) {
  QueueOptions options = queue_options_;
  options.shards = 2;
  CloseAndOpen(options);
  Calls();
  std::unique_ptr<Worker> worker;
  ASSERT_TRUE(queue_->Join(&worker).ok());
  EXPECT_EQ(Calls(), 1);
  worker.reset();
  EXPECT_EQ(Calls(), 1);
}

}  // namespace
}  // namespace wq
