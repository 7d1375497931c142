// Keys that are held for long.

#include <string>

#include <gtest/gtest.h>

#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

class StuckTest : public ::testing::Test, public StateFixture {
 protected:
  StuckTest() { Reopen({.stuck_after = 10s}); }
  std::string Hold() {
    const Item* item = state().Get(0, now);
    return item == nullptr ? "" : std::string(item->key());
  }
};

TEST_F(StuckTest, AKeyIsCountedOnceForEachHandOut) {
  Add("a");
  Add("b");
  EXPECT_EQ(Hold(), "a");
  Advance(4 * kSecond);
  EXPECT_EQ(Hold(), "b");
  EXPECT_EQ(state().NextDue(), now.steady_us + 6 * kSecond);
  EXPECT_EQ(Advance(7 * kSecond), 1u);
  EXPECT_EQ(state().Counts().stuck, 1u);
  EXPECT_EQ(Advance(20 * kSecond), 1u);
  EXPECT_EQ(state().NextDue(), std::nullopt);
  EXPECT_EQ(state().Counts().stuck, 2u);
  Done("a");
  EXPECT_EQ(state().Counts().stuck, 1u);
  Add("a");
  EXPECT_EQ(Hold(), "a");
  EXPECT_EQ(Advance(9 * kSecond), 0u);
  EXPECT_EQ(Advance(kSecond), 1u);
  EXPECT_EQ(state().Counts().stuck, 2u);
}

TEST_F(StuckTest, AKeyThatIsGivenBackIsNotStuck) {
  Add("a");
  EXPECT_EQ(Hold(), "a");
  EXPECT_TRUE(Do([](QueueState& s) { return s.PutBack("a"); }));
  EXPECT_EQ(Advance(20 * kSecond), 0u);
}

TEST_F(StuckTest, AKeyBecomesStuckDuringAShutdown) {
  Add("a");
  AddAfter("b", kSecond);
  EXPECT_EQ(Hold(), "a");
  state().StopDelays();
  EXPECT_EQ(Advance(10 * kSecond), 1u);
  EXPECT_EQ(state().Counts().stuck, 1u);
  EXPECT_EQ(Counts(), "1 processing, 1 delayed");
}

}  // namespace
}  // namespace wq
