// Rows that cannot be decoded or break a rule by themselves. For sound rows see records_test.cc.
#include "storage/row.h"

#include <string>

#include "storage/record_keys.h"
#include "tests/storage/records_fixture.h"

namespace wq::storage {
namespace {

class RowTest : public RecordsTest {
 protected:
  // The one record of the batch.
  Status DecodeOne() {
    Status status = Status::NotFound("nothing");
    batch_.ForEach(
        [&](const Mutation& put) { status = row_.Decode(put.family, put.key, put.value); });
    batch_.Clear();
    return status;
  }
  Row row_;
};

TEST_F(RowTest, KeysThatFitNothing) {
  EXPECT_STATUS(kCorruption, "too short", row_.Decode(Family::kDirty, "\1\2\3", ""));
  EXPECT_STATUS(kCorruption, "nothing has this key", row_.Decode(Family::kDefault, "stranger", ""));
  EXPECT_STATUS(kCorruption, "nothing has this key",
                row_.Decode(Family::kDefault, std::string(kStatePrefix) + "\1", ""));
  EXPECT_STATUS(kCorruption, "cannot be decoded", row_.Decode(Family::kDefault, kStoreKey, "\xff"));
  const std::string longest(kMaxKeyBytes, 'k');
  PutFailures(kQueue, {longest, 1, 2, 3, "e"}, &batch_);
  EXPECT_OK(DecodeOne());
  EXPECT_EQ(row_.key(), longest);
  PutFailures(kQueue, {longest + "k", 1, 2, 3, "e"}, &batch_);
  EXPECT_STATUS(kCorruption, "too long", DecodeOne());
}

TEST_F(RowTest, QueuesHaveANameAndAnId) {
  for (const char* name : {"q", "Pods-1.a_b", "zZ09"}) {
    PutQueue({name, 1, 2}, &batch_);
    EXPECT_OK(DecodeOne());
    EXPECT_NE(row_.As<QueueRecord>(), nullptr);
    EXPECT_EQ(row_.queue(), 1U);
  }
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("a b"), std::string("a{"), std::string("["),
        std::string("\xc3\xa9"), std::string("nul\0", 4), std::string(65, 'a')}) {
    PutQueue({name, 1, 2}, &batch_);
    EXPECT_STATUS(kCorruption, "a bad queue name", DecodeOne());
    PutCursor(kQueue, {name, "v"}, &batch_);
    EXPECT_STATUS(kCorruption, name.empty() ? "too short" : "a bad cursor name", DecodeOne());
  }
  PutQueue({"q", 0, 2}, &batch_);
  EXPECT_STATUS(kCorruption, "without an id", DecodeOne());
  EXPECT_STATUS(kCorruption, "cannot be decoded",
                row_.Decode(Family::kDefault, std::string(kQueuePrefix) + "q", "\xff"));
}

}  // namespace
}  // namespace wq::storage
