// Store::DeleteQueue: all of a queue or none of it is left, whichever write is the last.

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "storage/queue_records.h"
#include "tests/engine/queue/queue_fixture.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "doomed" has a key in each state, a cursor, limits and a pause. "q" has a key.
class DeleteQueueTest : public QueueTest {
 protected:
  DeleteQueueTest() {
    Add("stays");
    Fill();
    CloseAndOpen();
  }

  void Fill() {
    Queue* doomed = nullptr;
    ASSERT_TRUE(store_->OpenQueue("doomed", {.order = Order::kPriorities}, &doomed).ok());
    ASSERT_TRUE(doomed->Add("pending").ok());
    ASSERT_TRUE(doomed->Add("in a lane", {.lane = 7}).ok());
    ASSERT_TRUE(doomed->AddRateLimited("failing").ok());
    ASSERT_TRUE(doomed->Quarantine("quarantined").ok());
    ASSERT_TRUE(doomed->SetCursor("cursor", "value").ok());
    ASSERT_TRUE(doomed->Pause().ok());
    ASSERT_TRUE(store_->Flush().ok());
  }
  size_t Rows() {
    const MutexLock lock(disk_->mu);
    size_t rows = 0;
    for (const auto& family : disk_->state.families) {
      rows += family.size();
    }
    return rows;
  }
};

TEST_F(DeleteQueueTest, LeavesNothingOfTheQueueAndTheOtherQueuesUnchanged) {
  ASSERT_TRUE(store_->DeleteQueue("doomed").ok());
  EXPECT_THAT(store_->QueueNames(), ElementsAre("q"));
  EXPECT_EQ(store_->DeleteQueue("doomed").code(), StatusCode::kNotFound);
  CloseAndOpen();
  EXPECT_THAT(store_->QueueNames(), ElementsAre("q"));
  EXPECT_EQ(Rows(), 3U);  // The name, the state and the key of "q".
  EXPECT_EQ(Get(), "stays");
}

TEST_F(DeleteQueueTest, RefusesAQueueThatIsOpenMissingOrHasNoName) {
  const Status open = store_->DeleteQueue("q");
  EXPECT_EQ(open.code(), StatusCode::kLocked);
  EXPECT_THAT(open.message(), HasSubstr("queue 'q' is open in process"));
  EXPECT_EQ(store_->DeleteQueue("missing").code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->DeleteQueue("no name").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Get(), "stays");
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_EQ(store_->DeleteQueue("doomed").code(), StatusCode::kShuttingDown);
}

TEST_F(DeleteQueueTest, ACrashAfterAnyWriteLeavesTheWholeQueueOrNone) {
  const size_t rows_of_both = Rows();
  int whole = 0;
  int none = 0;
  for (uint64_t writes = 0;; ++writes) {
    FailWrites(writes);
    const Status s = store_->DeleteQueue("doomed");
    if (s.ok()) {
      break;
    }
    EXPECT_EQ(s.code(), StatusCode::kNotDurable) << s.ToString();
    Crash();
    if (store_->QueueNames() == std::vector<std::string>{"q"}) {
      ++none;
      EXPECT_EQ(store_->DeleteQueue("doomed").code(), StatusCode::kNotFound);
      CloseAndOpen();
      EXPECT_EQ(Rows(), 3U) << "the rest was not erased after " << writes << " writes";
      Fill();
      CloseAndOpen();
    } else {
      ++whole;
      EXPECT_EQ(Rows(), rows_of_both) << writes;
    }
  }
  EXPECT_EQ(whole, 1);  // Only before the first write.
  EXPECT_GT(none, 3);
  EXPECT_EQ(Get(), "stays");
}

TEST_F(DeleteQueueTest, AFailedStoreRecoversWithTheWholeQueueOrNone) {
  for (const uint64_t writes : {0U, 1U, 3U, 6U}) {
    FailWrites(writes);
    EXPECT_EQ(store_->DeleteQueue("doomed").code(), StatusCode::kNotDurable) << writes;
    EXPECT_EQ(store_->DeleteQueue("doomed").code(), StatusCode::kNotDurable) << writes;
    DiskIsBack();
    ASSERT_TRUE(store_->Recover().ok());
    const Status s = store_->DeleteQueue("doomed");
    EXPECT_EQ(s.code(), writes == 0 ? StatusCode::kOk : StatusCode::kNotFound) << writes;
    CloseAndOpen();
    EXPECT_EQ(Rows(), 3U) << writes;
    Fill();
    CloseAndOpen();
  }
}

TEST_F(DeleteQueueTest, AddsAtAsyncReachTheDiskBeforeTheDeletion) {
  ASSERT_TRUE(queue_->Add("first", {.durability = Durability::kAsync}).ok());
  FailWrites(1);
  EXPECT_FALSE(store_->DeleteQueue("doomed").ok());
  Crash();
  EXPECT_EQ(queue_->Len(), 2U);
}

}  // namespace
}  // namespace wq
