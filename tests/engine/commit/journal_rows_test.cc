#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/commit/journal.h"
#include "storage/mutation_batch.h"
#include "tests/support/memory_storage.h"

namespace wq {
namespace {

using storage::Family;

class JournalRows : public ::testing::Test {
 protected:
  void Put(const std::string& row) {
    storage::MutationBatch batch;
    batch.Put(Family::kSources, "o", row);
    ASSERT_TRUE(journal_.Wait(journal_.Append(batch, Durability::kAsync), Durability::kAsync).ok());
    ASSERT_TRUE(journal_.WriteOut().ok());
  }
  // From now on the files are as they are now, but for what is in them of this row.
  void Fail(const storage::MemoryDisk::Families& synced) {
    {
      const MutexLock lock(disk_->mu);
      disk_->state.synced = synced;
      disk_->state.fail_after = 0;
    }
    EXPECT_EQ(journal_.Flush(Durability::kPower).code(), StatusCode::kNotDurable);
  }
  std::string Get() const {
    std::string value;
    const Status s = rows_.Get(Family::kSources, "o", &value);
    return s.ok() ? value : std::string(StatusCodeName(s.code()));
  }

  const std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage_{disk_};
  Journal journal_{&storage_, {}};
  const Journal::Rows rows_{&journal_};
};

// All was written when the journal failed, and nothing is appended after that.
TEST_F(JournalRows, ARowThatTheFilesHaveLostIsReadFromTheFailedJournal) {
  Put("row");
  Fail({});
  ASSERT_TRUE(journal_.Reopen().ok());
  EXPECT_EQ(Get(), "row");
  // A scan would find no row of it.
  const auto visit = [](std::string_view, std::string_view) { return true; };
  EXPECT_EQ(rows_.Scan(Family::kSources, "", "", visit).code(), StatusCode::kNotDurable);
}

TEST_F(JournalRows, AReopeningThatCannotReadTheFilesServesNoneOfTheirRows) {
  Put("older");
  storage::MemoryDisk::Families synced;
  {
    const MutexLock lock(disk_->mu);
    synced = disk_->state.families;
  }
  Put("newer");
  Fail(synced);
  {
    const MutexLock lock(disk_->mu);
    disk_->state.fail_gets = 1;
  }
  ASSERT_FALSE(journal_.Reopen().ok());
  EXPECT_EQ(Get(), "NotDurable");
  ASSERT_TRUE(journal_.Reopen().ok());
  EXPECT_EQ(Get(), "newer");
}

}  // namespace
}  // namespace wq
