// The oracle of the failover tests finds what it is there to find.

#include "tests/failover/oracle.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace wq::failover {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> VerdictOf(const std::vector<std::string>& lines) {
  Oracle oracle;
  for (const std::string& line : lines) oracle.Take(line);
  return oracle.Verdict();
}

TEST(FailoverOracleTest, AcceptsWhatIsRight) {
  // A key that is handed out again after a failover.
  EXPECT_THAT(VerdictOf({"a b 5", "a a a-5-0", "a g 5 100 110 a-5-0", "a d 5 a-5-0", "b b 9",
                         "b g 9 200 210 a-5-0", "b d 9 a-5-0", "b f 9 a-5-0"}),
              IsEmpty());
  // What a former owner reports late.
  EXPECT_THAT(VerdictOf({"b g 9 200 210 k", "a g 5 100 110 k", "a d 5 k"}), IsEmpty());
  EXPECT_THAT(VerdictOf({"a r 5 0 0", "a c 5 1", "b r 9 5 1", "b c 9 1"}), IsEmpty());
}

TEST(FailoverOracleTest, FindsWhatIsWrong) {
  const struct {
    std::vector<std::string> lines;
    const char* wrong;
  } kCases[] = {
      {{"a g 5 100 110 j", "b g 9 200 210 k", "a g 5 211 220 l"},
       "epoch 5 of a hands out at 211 us"},
      {{"a b 5", "b b 5"}, "owned by a and by b"},
      {{"a g 5 100 110 k", "a g 5 120 130 k"}, "hands out k twice"},
      {{"a g 5 100 110 k", "a d 5 k", "a f 5 k", "b g 9 200 210 k"},
       "whose Done epoch 5 has flushed"},
      {{"a g 5 100 110 k", "a d 5 k", "b g 9 200 210 k", "a f 5 k"},
       "and then its Done was flushed"},
      {{"a r 5 0 0", "b r 9 5 1", "a c 5 2"}, "begins with the cursor 5 1, and 5 2 was flushed"},
      {{"a x Add k: Corruption"}, "a x Add k: Corruption"},
  };
  for (const auto& [lines, wrong] : kCases) {
    EXPECT_THAT(VerdictOf(lines), ElementsAre(HasSubstr(wrong)));
  }
}

TEST(FailoverOracleTest, CountsAcknowledgedKeysThatNobodyHandedOut) {
  Oracle oracle;
  for (const char* line : {"a a j", "a a k", "a g 5 100 110 k", "a g 5 100 110 l", "a a l"}) {
    oracle.Take(line);
  }
  EXPECT_THAT(oracle.Unseen(), ElementsAre("j"));
  EXPECT_EQ(oracle.Now().unseen, 1U);
}

}  // namespace
}  // namespace wq::failover
