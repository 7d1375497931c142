// Lists of keys through the C interface: a key that is refused does not hold up the others.

#include <string>
#include <vector>

#include "tests/c/c_fixture.h"

namespace wq::c {
namespace {

std::string ListOf(const std::vector<std::string>& keys) {
  std::string list;
  for (const std::string& key : keys) {
    list += {static_cast<char>(key.size()), 0, 0, 0};
    list += key;
  }
  return list;
}

TEST_F(CTest, ABatchCountsAllRefusedKeysAndNamesThoseThatHaveRoom) {
  OpenQueue();
  const std::string list = ListOf({"", "a", "", "b"});
  wq_refused refused[1];
  wq_batch_result result{};
  result.size = sizeof result;
  result.refused_keys = refused;
  result.refused_capacity = 1;
  EXPECT_EQ(wq_queue_add_batch(queue_, list.data(), list.size(), nullptr, &result, &error_), WQ_OK);
  EXPECT_EQ(result.added, 2U);
  EXPECT_EQ(result.refused, 2U);
  EXPECT_EQ(refused[0].index, 0U);
  EXPECT_EQ(refused[0].code, WQ_INVALID_ARGUMENT);
}

TEST_F(CTest, DoneOfABatchGoesOnBehindAKeyThatIsNotProcessing) {
  OpenQueue();
  EXPECT_EQ(Add("a"), WQ_OK);
  EXPECT_EQ(Get(), "a");
  const std::string list = ListOf({"other", "a"});
  size_t not_processing = 0;
  EXPECT_EQ(wq_queue_done_batch(queue_, list.data(), list.size(), &not_processing, &error_),
            WQ_NOT_PROCESSING);
  EXPECT_EQ(not_processing, 1U);
  EXPECT_EQ(Done("a"), WQ_NOT_PROCESSING);
}

}  // namespace
}  // namespace wq::c
