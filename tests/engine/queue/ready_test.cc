// QueueOptions::on_ready: who waits without a thread is told whenever it is worth looking again.

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
  ~ReadyTest() override { store_.reset(); }  // Closing tells, too.

  // The calls since the last time.
  int Told() { return calls_.exchange(0); }

  std::atomic<int> calls_{0};
};

TEST_F(ReadyTest, AnAddTellsAndADuplicateDoesNot) {
  Add("a");
  EXPECT_EQ(Told(), 1);
  Add("a");
  EXPECT_EQ(Told(), 0);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Told(), 0);
}

TEST_F(ReadyTest, DoneTellsOnlyOfAKeyThatIsQueuedAgain) {
  Add("a");
  EXPECT_EQ(Get(), "a");
  Add("a");
  EXPECT_EQ(Told(), 1);  // The first Add; the second one waits for Done.
  EXPECT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(Told(), 1);
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(queue_->Done("a").ok());
  EXPECT_EQ(Told(), 0);
}

TEST_F(ReadyTest, ADelayThatEndsTells) {
  ASSERT_TRUE(queue_->AddAfter("a", microseconds(10)).ok());
  EXPECT_EQ(Told(), 0);
  clock_.Advance(microseconds(10));
  EXPECT_EQ(queue_->Len(), 1u);  // Fires it, if the timer has not.
  EXPECT_EQ(Told(), 1);
}

TEST_F(ReadyTest, ResumeTells) {
  ASSERT_TRUE(queue_->Pause().ok());
  Add("a");
  Told();
  EXPECT_EQ(Get(), "TimedOut");
  ASSERT_TRUE(queue_->Resume().ok());
  EXPECT_EQ(Told(), 1);
  EXPECT_EQ(Get(), "a");
}

TEST_F(ReadyTest, ShuttingDownTellsAndSoDoesTheLastKeyThen) {
  Add("a");
  Told();
  queue_->ShutDown();
  EXPECT_EQ(Told(), 1);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Told(), 1);  // Who waits for another key hears that there is none.
  queue_->Stop();
  EXPECT_EQ(Told(), 1);
}

TEST_F(ReadyTest, ItMayCallTheQueue) {
  QueueOptions options = queue_options_;
  queue_ = nullptr;
  options.on_ready = [this] { calls_ = queue_ == nullptr ? 0 : static_cast<int>(queue_->Len()); };
  CloseAndOpen(options);
  Add("a");
  Add("b");
  EXPECT_EQ(Told(), 2);
}

TEST_F(ReadyTest, AShardThatChangesHandsTells) {
  QueueOptions options = queue_options_;
  options.shards = 2;
  CloseAndOpen(options);
  Told();
  std::unique_ptr<Worker> worker;
  ASSERT_TRUE(queue_->Join(&worker).ok());
  EXPECT_EQ(Told(), 1);
  worker.reset();
  EXPECT_EQ(Told(), 1);
}

}  // namespace
}  // namespace wq
