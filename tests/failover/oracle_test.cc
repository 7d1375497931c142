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

TEST(FailoverOracleTest, AcceptsAKeyThatIsHandedOutAgainAfterAFailover) {
  EXPECT_THAT(VerdictOf({"a b 5", "a a a-5-0", "a g 5 100 110 a-5-0", "a d 5 a-5-0", "b b 9",
                         "b g 9 200 210 a-5-0", "b d 9 a-5-0", "b f 9 a-5-0"}),
              IsEmpty());
}

TEST(FailoverOracleTest, AcceptsWhatAFormerOwnerReportsLate) {
  EXPECT_THAT(VerdictOf({"b g 9 200 210 k", "a g 5 100 110 k", "a d 5 k"}), IsEmpty());
}

TEST(FailoverOracleTest, FindsTwoOwnersAtOnce) {
  EXPECT_THAT(VerdictOf({"a g 5 100 110 j", "b g 9 200 210 k", "a g 5 211 220 l"}),
              ElementsAre(HasSubstr("epoch 5 of a hands out at 211 us")));
}

TEST(FailoverOracleTest, FindsAnEpochOfTwoOwners) {
  EXPECT_THAT(VerdictOf({"a b 5", "b b 5"}), ElementsAre(HasSubstr("owned by a and by b")));
}

TEST(FailoverOracleTest, FindsAKeyThatAnEpochHandsOutTwice) {
  EXPECT_THAT(VerdictOf({"a g 5 100 110 k", "a g 5 120 130 k"}),
              ElementsAre(HasSubstr("hands out k twice")));
}

TEST(FailoverOracleTest, FindsADoneThatWasFlushedAndIsLost) {
  EXPECT_THAT(VerdictOf({"a g 5 100 110 k", "a d 5 k", "a f 5 k", "b g 9 200 210 k"}),
              ElementsAre(HasSubstr("whose Done epoch 5 has flushed")));
  EXPECT_THAT(VerdictOf({"a g 5 100 110 k", "a d 5 k", "b g 9 200 210 k", "a f 5 k"}),
              ElementsAre(HasSubstr("and then its Done was flushed")));
}

TEST(FailoverOracleTest, CountsAcknowledgedKeysThatNobodyHandedOut) {
  Oracle oracle;
  for (const char* line : {"a a j", "a a k", "a g 5 100 110 k", "a g 5 100 110 l", "a a l"}) {
    oracle.Take(line);
  }
  EXPECT_THAT(oracle.Unseen(), ElementsAre("j"));
  EXPECT_EQ(oracle.Now().unseen, 1U);
}

TEST(FailoverOracleTest, FindsACursorThatIsOlderThanWhatWasFlushed) {
  EXPECT_THAT(VerdictOf({"a r 5 0 0", "a c 5 1", "b r 9 5 1", "b c 9 1"}), IsEmpty());
  EXPECT_THAT(VerdictOf({"a r 5 0 0", "b r 9 5 1", "a c 5 2"}),
              ElementsAre(HasSubstr("begins with the cursor 5 1, and 5 2 was flushed")));
}

TEST(FailoverOracleTest, TakesAComplaintAsAFault) {
  EXPECT_THAT(VerdictOf({"a x Add k: Corruption"}), ElementsAre("a x Add k: Corruption"));
}

}  // namespace
}  // namespace wq::failover
