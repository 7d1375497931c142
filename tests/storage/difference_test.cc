#include "storage/difference.h"

#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"

namespace wq::storage {
namespace {

// The queue's own rows, two of one name each.
void PutRows(QueueId queue, std::string_view name, std::string_view value, MutationBatch* batch) {
  PutFailures(queue, {.key = name, .count = 1, .last_error = value}, batch);
  PutCursor(queue, {.name = name, .value = value}, batch);
}

std::string Cursors(const Reader& reader, QueueId queue) {
  std::string text;
  EXPECT_OK(ScanCursors(reader, queue, [&text](const CursorRecord& record) {
    text += std::string(record.name) + "=" + std::string(record.value) + " ";
    return true;
  }));
  return text;
}

class DifferenceTest : public ::testing::Test {
 protected:
  void Write(MutationBatch& batch) { ASSERT_OK(storage_.Write(batch, false)); }

  MemoryStorage storage_{std::make_shared<MemoryDisk>()};
  MutationBatch rows_;
  MutationBatch difference_;
};

TEST_F(DifferenceTest, AnEmptyPartGetsAllRows) {
  PutRows(7, "a", "1", &rows_);
  PutRows(7, "b", "2", &rows_);
  ASSERT_OK(AppendDifference(storage_, PartOfQueue(7), rows_, &difference_));
  EXPECT_EQ(difference_.count(), rows_.count());
  Write(difference_);
  EXPECT_EQ(Cursors(storage_, 7), "a=1 b=2 ");
}

TEST_F(DifferenceTest, WhatIsThereAlreadyIsNotWrittenAgain) {
  PutRows(7, "a", "1", &rows_);
  PutQueueState(7, {.sequence_high_water = 5}, &rows_);
  Write(rows_);
  ASSERT_OK(AppendDifference(storage_, PartOfQueue(7), rows_, &difference_));
  EXPECT_TRUE(difference_.empty());
}

TEST_F(DifferenceTest, ChangesReplacesAndErases) {
  MutationBatch old;
  for (const char* name : {"a", "b", "c", "d"}) {
    PutRows(7, name, "old", &old);
  }
  Write(old);
  PutRows(7, "0", "newer", &rows_);
  PutRows(7, "b", "old", &rows_);
  PutRows(7, "c", "newer", &rows_);
  PutRows(7, "e", "newer", &rows_);
  ASSERT_OK(AppendDifference(storage_, PartOfQueue(7), rows_, &difference_));
  EXPECT_EQ(difference_.count(), 2U * 5);  // a and d erased; 0, c and e put; b unchanged.
  Write(difference_);
  EXPECT_EQ(Cursors(storage_, 7), "0=newer b=old c=newer e=newer ");
}

TEST_F(DifferenceTest, OtherQueuesAreNotTouched) {
  MutationBatch old;
  for (const QueueId queue : {6U, 7U, 8U, 255U, 256U}) {
    PutRows(queue, "x", "old", &old);
    PutQueueState(queue, {.sequence_high_water = 5}, &old);
    PutQueue({.name = std::to_string(queue), .id = queue}, &old);
  }
  Write(old);
  ASSERT_OK(AppendDifference(storage_, PartOfQueue(7), rows_, &difference_));
  ASSERT_OK(AppendDifference(storage_, PartOfQueue(255), rows_, &difference_));
  EXPECT_EQ(difference_.count(), 2U * 3);  // The names of the queues are no part of them.
  Write(difference_);
  for (const QueueId queue : {6U, 8U, 256U}) {
    EXPECT_EQ(Cursors(storage_, queue), "x=old ");
    std::string buffer;
    QueueStateRecord state;
    EXPECT_OK(GetQueueState(storage_, queue, &buffer, &state));
  }
}

TEST_F(DifferenceTest, QueueRecordsAreAPartOfTheirOwn) {
  MutationBatch old;
  PutStore({.format_version = 1, .uuid = "u"}, &old);
  PutQueue({.name = "gone", .id = 1}, &old);
  PutQueue({.name = "kept", .id = 2}, &old);
  PutQueueState(1, {}, &old);
  Write(old);
  PutQueue({.name = "kept", .id = 2}, &rows_);
  ASSERT_OK(AppendDifference(storage_, PartOfStoreRecords(), rows_, &difference_));
  EXPECT_EQ(difference_.count(), 1U);
  Write(difference_);
  StoreRecord store;
  EXPECT_OK(GetStore(storage_, &store));
}

TEST_F(DifferenceTest, TokensAreAPartOfTheStore) {
  MutationBatch old;
  PutTokens({.next = 5}, &old);
  Write(old);
  PutTokens({.next = 9}, &rows_);
  ASSERT_OK(AppendDifference(storage_, PartOfStoreRecords(), rows_, &difference_));
  EXPECT_EQ(difference_.count(), 1U);
  Write(difference_);
  TokensRecord tokens;
  EXPECT_OK(GetTokens(storage_, &tokens));
  EXPECT_EQ(tokens.next, 9U);
}

}  // namespace
}  // namespace wq::storage
