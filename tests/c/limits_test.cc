// Limits on hand-outs through the C interface: they bound, and bad ones are refused.

#include <initializer_list>
#include <string_view>

#include "tests/c/c_fixture.h"

namespace wq::c {
namespace {

class LimitsCTest : public CTest {
 protected:
  LimitsCTest() {
    options_.size = sizeof options_;
    // The group of a key is its first byte.
    options_.group_of = [](void*, const char* key, size_t, char* group, size_t) {
      *group = *key;
      return size_t{1};
    };
  }

  void AddAll(std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      EXPECT_EQ(Add(key), WQ_OK) << error_.message;
    }
  }
  size_t HeldBack() {
    wq_counts counts{};
    counts.size = sizeof counts;
    EXPECT_EQ(wq_queue_counts(queue_, &counts, &error_), WQ_OK);
    return counts.held_back;
  }
  static wq_group_limits Processing(uint32_t max) {
    wq_group_limits limits{};
    limits.size = sizeof limits;
    limits.max_processing = max;
    return limits;
  }

  wq_queue_options options_{};
};

TEST_F(LimitsCTest, TheOptionsBoundGroupsAndTheQueue) {
  const wq_group_limits one = Processing(1);
  const wq_group_limits two = Processing(2);
  options_.group_limits = &one;
  options_.limits = &two;
  OpenQueue(&options_);
  AddAll({"a1", "a2", "b1", "c1"});
  EXPECT_EQ(Get(), "a1");
  EXPECT_EQ(HeldBack(), 1u);
  EXPECT_EQ(Get(), "b1");
  EXPECT_EQ(Get(), "TimedOut");
  EXPECT_EQ(HeldBack(), 2u);
  EXPECT_EQ(Done("a1"), WQ_OK);
  EXPECT_EQ(Get(), "a2");
}

TEST_F(LimitsCTest, ARateHoldsBack) {
  wq_group_limits slow = Processing(0);
  slow.per_second = 0.001;
  slow.burst = 2;
  options_.group_limits = &slow;
  OpenQueue(&options_);
  AddAll({"a1", "a2", "a3"});
  EXPECT_EQ(Get(), "a1");
  EXPECT_EQ(Get(), "a2");
  EXPECT_EQ(Get(), "TimedOut");
  EXPECT_EQ(HeldBack(), 1u);
}

TEST_F(LimitsCTest, FairGroupsTakeTurnsInLanes) {
  const int32_t lanes[] = {5};
  options_.order = WQ_ORDER_FAIR;
  options_.lanes = lanes;
  options_.lane_count = 1;
  OpenQueue(&options_);
  AddAll({"a1", "a2", "b1"});
  wq_add_options high{};
  high.size = sizeof high;
  high.has_lane = 1;
  high.lane = 5;
  EXPECT_EQ(wq_queue_add(queue_, "c", 1, &high, nullptr, &error_), WQ_OK) << error_.message;
  for (const char* const key : {"c", "a1", "b1", "a2"}) {
    EXPECT_EQ(Get(), key);
  }
}

TEST_F(LimitsCTest, BadLimitsAreRefused) {
  wq_group_limits limits = Processing(0);
  const auto open = [&] { return wq_store_open_queue(store_, "q", &options_, &queue_, &error_); };
  options_.limits = &limits;
  limits.per_second = -1;
  EXPECT_EQ(open(), WQ_INVALID_ARGUMENT);
  limits.size = 0;
  EXPECT_EQ(open(), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.limits.size is 0, not the struct's size");
  options_.group_limits = &limits;
  EXPECT_EQ(open(), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.group_limits.size is 0, not the struct's size");
}

}  // namespace
}  // namespace wq::c
