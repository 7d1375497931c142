// Why keys need work: merging, the limits, and what is kept over a crash.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/causes.h"
#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::vector<std::string> Reasons(const Causes& causes) {
  std::vector<std::string> reasons;
  for (const Cause& cause : causes.list) {
    reasons.push_back(cause.reason);
  }
  return reasons;
}

class CausesTest : public ::testing::Test, protected StateFixture {
 protected:
  void AddFor(std::string_view key, std::string_view reason) {
    Do([&](QueueState& state) { return state.Add(key, {.reason = reason}, now.wall_us).outcome; });
  }
  void AddAfterFor(std::string_view key, int64_t delay_us, std::string_view reason) {
    Do([&](QueueState& state) {
      return state.AddAfter(key, delay_us, {.reason = reason}, now).outcome;
    });
  }
  std::vector<std::string> ReasonsOf(std::string_view key) {
    Causes causes;
    EXPECT_TRUE(state().CausesOf(key, &causes)) << key;
    return Reasons(causes);
  }
};

TEST_F(CausesTest, AKeyHasTheCausesOfAllItsAdds) {
  AddFor("a", "created");
  AddFor("a", "changed");
  AddFor("a", "created");
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created", "changed"));
  Add("b");
  EXPECT_THAT(ReasonsOf("b"), IsEmpty());
}

TEST_F(CausesTest, AnAddWithoutANewCauseWritesNothing) {
  AddFor("a", "created");
  state().Add("a", {.reason = "created"}, now.wall_us);
  EXPECT_FALSE(HasMutations());
  state().Add("a", {.reason = "changed"}, now.wall_us);
  EXPECT_TRUE(HasMutations());
}

TEST_F(CausesTest, ACauseSinceTheHandOutIsOfTheNextOne) {
  AddFor("a", "created");
  EXPECT_EQ(Get(), "a");
  AddFor("a", "changed");
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created"));
  EXPECT_TRUE(Done("a"));
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("changed"));
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(Done("a"));
  Causes causes;
  EXPECT_FALSE(state().CausesOf("a", &causes));
}

TEST_F(CausesTest, AfterACrashThereIsOneHandOutForAllCauses) {
  AddFor("a", "created");
  Get();
  AddFor("a", "changed");
  AddAfterFor("b", kSecond, "later");
  Crash();
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created", "changed"));
  EXPECT_THAT(ReasonsOf("b"), ElementsAre("later"));
}

TEST_F(CausesTest, TheRetryOfAFailureHasTheCausesOfTheAttempt) {
  AddFor("a", "created");
  Get();
  Fail("a", kSecond);
  EXPECT_TRUE(Done("a"));
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created"));
  Crash();
  Advance(kSecond);
  EXPECT_EQ(Get(), "a");
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created"));
  Fail("a", 0);
  EXPECT_TRUE(Done("a"));
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created"));
}

TEST_F(CausesTest, AKeyThatIsGivenBackKeepsItsCauses) {
  AddFor("a", "created");
  Get();
  AddFor("a", "changed");
  EXPECT_TRUE(Do([](QueueState& state) { return state.PutBack("a"); }));
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created", "changed"));
}

TEST_F(CausesTest, ADelayBringsItsCausesToTheAddThatItBecomes) {
  AddAfterFor("a", kSecond, "later");
  AddAfterFor("a", 2 * kSecond, "much later");  // The earlier delay stays, with both.
  AddAfterFor("a", kSecond / 2, "soon");
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("later", "much later", "soon"));
  Crash();
  Advance(kSecond);
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("later", "much later", "soon"));
}

TEST_F(CausesTest, WhatEndsTheNeedEndsTheCauses) {
  AddFor("removed", "x");
  AddFor("deleted", "x");
  AddAfterFor("deleted", kSecond, "y");
  AddAfterFor("cancelled", kSecond, "x");
  AddFor("quarantined", "x");
  Do([&](QueueState& state) {
    state.Quarantine("quarantined", "by hand", now);
    return true;
  });
  EXPECT_TRUE(Do([](QueueState& state) { return state.Remove("removed"); }));
  EXPECT_TRUE(Do([](QueueState& state) { return state.Delete("deleted"); }));
  EXPECT_TRUE(Do([](QueueState& state) { return state.CancelDelay("cancelled"); }));
  EXPECT_TRUE(Do([&](QueueState& state) { return state.Release("quarantined", 0, now); }));
  for (const char* key : {"removed", "deleted", "cancelled", "quarantined"}) {
    Add(key);
    EXPECT_THAT(ReasonsOf(key), IsEmpty()) << key;
  }
}

TEST_F(CausesTest, AnAddThatIsCancelledWhileTheKeyIsHeldIsForgottenOnDiskToo) {
  AddFor("a", "created");
  Get();
  AddFor("a", "changed");
  EXPECT_TRUE(Do([](QueueState& state) { return state.Remove("a"); }));
  Crash();
  EXPECT_THAT(ReasonsOf("a"), ElementsAre("created"));
}

TEST_F(CausesTest, CausesAreBoundedAndTheRestIsCounted) {
  for (int i = 0; i < 20; ++i) {
    AddFor("a", "reason " + std::to_string(i));
  }
  const std::string longest(kMaxReasonBytes, 'x');
  for (int i = 0; i < 6; ++i) {
    AddFor("b", std::to_string(i) + longest.substr(1));
  }
  Causes causes;
  ASSERT_TRUE(state().CausesOf("a", &causes));
  EXPECT_EQ(causes.list.size(), kMaxCauses);
  EXPECT_EQ(causes.left_out, 20 - kMaxCauses);
  ASSERT_TRUE(state().CausesOf("b", &causes));
  EXPECT_EQ(causes.list.size(), kMaxCauseBytes / kMaxReasonBytes);
  EXPECT_EQ(causes.left_out, 2);
  Crash();
  ASSERT_TRUE(state().CausesOf("a", &causes));
  EXPECT_EQ(causes.list.size(), kMaxCauses);
  EXPECT_EQ(causes.left_out, 20 - kMaxCauses);
}

TEST_F(CausesTest, TheSameReasonInTwoTracesIsTwoCauses) {
  for (const char* trace : {kTrace, "", kTrace}) {
    Do([&](QueueState& state) {
      return state.Add("a", {.reason = "changed", .trace_parent = trace}, now.wall_us).outcome;
    });
  }
  Causes causes;
  ASSERT_TRUE(state().CausesOf("a", &causes));
  EXPECT_THAT(causes.list, ElementsAre(Cause{"changed", kTrace}, Cause{"changed", ""}));
}

TEST(CauseBytesTest, WhatCannotBeDecodedIsNoCause) {
  const Causes causes{.list = {{"changed", kTrace}, {"created", ""}}, .left_out = 3};
  const std::string bytes = storage::EncodeCauses(causes);
  EXPECT_EQ(storage::DecodeCauses(bytes), causes);
  EXPECT_TRUE(storage::EncodeCauses({}).empty());
  for (size_t i = 0; i < bytes.size(); ++i) {
    storage::DecodeCauses(bytes.substr(0, i));
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      for (const Cause& cause : storage::DecodeCauses(flipped).list) {
        EXPECT_TRUE(CheckCause(cause.reason, cause.trace_parent).ok());
      }
    }
  }
}

TEST(CheckCauseTest, RefusesWhatIsNoReasonAndNoTraceParent) {
  EXPECT_TRUE(CheckCause("", "").ok());
  EXPECT_TRUE(CheckCause("Knoten \xc3\xbc"
                         "ber",
                         kTrace)
                  .ok());
  EXPECT_TRUE(CheckCause(std::string(kMaxReasonBytes, 'x'), "").ok());
  for (const std::string& reason :
       {std::string(kMaxReasonBytes + 1, 'x'), std::string("a\nb"), std::string("a\0b", 3),
        std::string("\x7f"), std::string("\xff")}) {
    EXPECT_EQ(CheckCause(reason, "").code(), StatusCode::kInvalidArgument) << reason;
  }
  std::string zero_trace = kTrace;
  zero_trace.replace(3, 32, 32, '0');
  std::string zero_parent = kTrace;
  zero_parent.replace(36, 16, 16, '0');
  for (const std::string& trace :
       {std::string("x"), std::string(kTrace) + "-", std::string(kTrace).substr(1),
        "01" + std::string(kTrace).substr(2), "00-4BF" + std::string(kTrace).substr(6), zero_trace,
        zero_parent, std::string(kTrace).replace(35, 1, "_")}) {
    EXPECT_EQ(CheckCause("", trace).code(), StatusCode::kInvalidArgument) << trace;
  }
}

}  // namespace
}  // namespace wq
