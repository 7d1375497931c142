#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/commit/journal.h"
#include "storage/mutation_batch.h"
#include "tests/support/memory_storage.h"

namespace wq {
namespace {

using storage::Family;

// All was written when the journal failed, and nothing is appended after that.
TEST(JournalRows, ARowThatTheFilesHaveLostIsReadFromTheFailedJournal) {
  const auto disk = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage(disk);
  Journal journal(&storage, {});
  storage::MutationBatch batch;
  batch.Put(Family::kSources, "o", "row");
  ASSERT_TRUE(journal.Wait(journal.Append(batch, Durability::kAsync), Durability::kAsync).ok());
  ASSERT_TRUE(journal.WriteOut().ok());
  {
    const MutexLock lock(disk->mu);
    disk->state.synced.emplace();  // Without the row.
    disk->state.fail_after = 0;
  }
  EXPECT_EQ(journal.Flush(Durability::kPower).code(), StatusCode::kNotDurable);
  ASSERT_TRUE(journal.Reopen().ok());
  const Journal::Rows rows(&journal);
  std::string value;
  EXPECT_TRUE(rows.Get(Family::kSources, "o", &value).ok());
  EXPECT_EQ(value, "row");
  // A scan would find no row of it.
  const auto visit = [](std::string_view, std::string_view) { return true; };
  EXPECT_EQ(rows.Scan(Family::kSources, "", "", visit).code(), StatusCode::kNotDurable);
}

}  // namespace
}  // namespace wq
