// Why keys need work: the bounds of what is kept, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/causes.h"
#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using ::testing::ElementsAre;

constexpr const char* kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class CausesTest : public ::testing::Test, protected StateFixture {
 protected:
  void AddFor(std::string_view key, std::string_view reason) {
    Do([&](QueueState& state) { return state.Add(key, {.reason = reason}, now.wall_us).outcome; });
  }
};

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

TEST(CauseBytesTest, TheCountOfTheRestStaysAtItsBound) {
  Causes causes{.list = std::vector<Cause>(kMaxCauses), .left_out = UINT64_MAX - 1};
  EXPECT_TRUE(MergeCause("one more", "", &causes));
  EXPECT_FALSE(MergeCause("another one", "", &causes));
  EXPECT_EQ(causes.left_out, UINT64_MAX);
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
