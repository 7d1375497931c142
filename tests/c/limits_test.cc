// Limits on hand-outs through the C interface: they bound, they are read and listed, and bad ones
// are refused.

#include <algorithm>
#include <initializer_list>
#include <string>
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
  wq_code Set(std::string_view group, const wq_group_limits* limits) {
    return wq_queue_set_limits(queue_, group.data(), group.size(), limits, &error_);
  }
  wq_group_limits Limits(std::string_view group) {
    wq_group_limits limits{};
    limits.size = sizeof limits;
    EXPECT_EQ(wq_queue_get_limits(queue_, group.data(), group.size(), &limits, nullptr, &error_),
              WQ_OK);
    return limits;
  }
  wq_group_status StatusOf(std::string_view group) {
    wq_group_status status{};
    status.size = sizeof status;
    EXPECT_EQ(wq_queue_get_limits(queue_, group.data(), group.size(), nullptr, &status, &error_),
              WQ_OK);
    return status;
  }
  size_t HeldBack() {
    wq_counts counts{};
    counts.size = sizeof counts;
    EXPECT_EQ(wq_queue_counts(queue_, &counts, &error_), WQ_OK);
    return counts.held_back;
  }
  // The limits that were set: "group=max_processing,weight ".
  std::string List() {
    std::string text;
    const auto visit = [](void* arg, const char* group, size_t size, const wq_group_limits* l) {
      EXPECT_EQ(l->size, sizeof *l);
      *static_cast<std::string*>(arg) += std::string(group, size) + "=" +
                                         std::to_string(l->max_processing) + "," +
                                         std::to_string(l->weight) + " ";
      return 1;
    };
    EXPECT_EQ(wq_queue_limits(queue_, visit, &text, &error_), WQ_OK);
    return text;
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
  const wq_group_status all = StatusOf("");
  EXPECT_EQ(all.processing, 2u);
  EXPECT_EQ(all.held_back, 1);
  EXPECT_EQ(all.own_limits, 0);
  EXPECT_EQ(all.next_in_us, -1);
  EXPECT_EQ(Limits("").max_processing, 2u);
  EXPECT_EQ(Limits("a").max_processing, 1u);
  EXPECT_EQ(Done("a1"), WQ_OK);
  EXPECT_EQ(Get(), "a2");
}

TEST_F(LimitsCTest, LimitsAreSetReadAndListed) {
  OpenQueue(&options_);
  AddAll({"a1", "a2"});
  const wq_group_limits one = Processing(1);
  EXPECT_EQ(Set("a", &one), WQ_OK) << error_.message;
  wq_group_limits all = Processing(7);
  EXPECT_EQ(Set("", &all), WQ_OK) << error_.message;
  EXPECT_EQ(List(), "=7,1 a=1,1 ");
  EXPECT_EQ(Get(), "a1");
  EXPECT_EQ(Get(), "TimedOut");
  EXPECT_EQ(StatusOf("a").own_limits, 1);
  EXPECT_EQ(StatusOf("a").held_back, 1);
  EXPECT_EQ(StatusOf("a").processing, 1u);
  const wq_group_limits read = Limits("a");
  EXPECT_EQ(read.max_processing, 1u);
  EXPECT_EQ(read.per_second, 0);
  EXPECT_EQ(read.burst, 1u);
  EXPECT_EQ(read.weight, 1u);
  EXPECT_EQ(Set("a", nullptr), WQ_OK);
  EXPECT_EQ(List(), "=7,1 ");
  EXPECT_EQ(Get(), "a2");
}

TEST_F(LimitsCTest, AVisitorEndsTheList) {
  OpenQueue(&options_);
  const wq_group_limits one = Processing(1);
  EXPECT_EQ(Set("a", &one), WQ_OK);
  EXPECT_EQ(Set("b", &one), WQ_OK);
  int visits = 0;
  const auto once = [](void* arg, const char*, size_t, const wq_group_limits*) {
    ++*static_cast<int*>(arg);
    return 0;
  };
  EXPECT_EQ(wq_queue_limits(queue_, once, &visits, &error_), WQ_OK);
  EXPECT_EQ(visits, 1);
}

TEST_F(LimitsCTest, ARateHoldsBack) {
  OpenQueue(&options_);
  wq_group_limits slow = Processing(0);
  slow.per_second = 0.001;
  slow.burst = 2;
  EXPECT_EQ(Set("a", &slow), WQ_OK) << error_.message;
  AddAll({"a1", "a2", "a3"});
  EXPECT_EQ(Get(), "a1");
  EXPECT_EQ(StatusOf("a").next_in_us, -1);
  EXPECT_EQ(Get(), "a2");
  EXPECT_EQ(Get(), "TimedOut");
  const wq_group_status status = StatusOf("a");
  EXPECT_EQ(status.held_back, 1);
  EXPECT_GT(status.next_in_us, 0);
  EXPECT_LE(status.next_in_us, 1000000000);
  EXPECT_EQ(Limits("a").per_second, 0.001);
  EXPECT_EQ(Limits("a").burst, 2u);
}

TEST_F(LimitsCTest, FairGroupsTakeTurnsInLanesByTheirWeights) {
  const int32_t lanes[] = {5};
  options_.order = WQ_ORDER_FAIR;
  options_.lanes = lanes;
  options_.lane_count = 1;
  OpenQueue(&options_);
  wq_group_limits twice = Processing(0);
  twice.weight = 2;
  EXPECT_EQ(Set("b", &twice), WQ_OK);
  AddAll({"a1", "a2", "a3", "b1", "b2", "b3"});
  wq_add_options high{};
  high.size = sizeof high;
  high.has_lane = 1;
  high.lane = 5;
  EXPECT_EQ(wq_queue_add(queue_, "c", 1, &high, nullptr, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(Get(), "c");
  std::string groups;
  for (int i = 0; i < 3; ++i) {
    groups += Get()[0];
  }
  EXPECT_EQ(std::count(groups.begin(), groups.end(), 'b'), 2) << groups;
}

TEST_F(LimitsCTest, BadLimitsAreRefused) {
  OpenQueue(&options_);
  wq_group_limits limits = Processing(0);
  limits.per_second = -1;
  EXPECT_EQ(Set("a", &limits), WQ_INVALID_ARGUMENT);
  limits = Processing(0);
  limits.weight = 1001;
  EXPECT_EQ(Set("a", &limits), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(Set(std::string(2000, 'g'), nullptr), WQ_INVALID_ARGUMENT);
  wq_queue other = WQ_NO_QUEUE;
  options_.limits = &limits;
  EXPECT_EQ(wq_store_open_queue(store_, "other", &options_, &other, &error_), WQ_INVALID_ARGUMENT);
  limits.size = 0;
  EXPECT_EQ(wq_store_open_queue(store_, "other", &options_, &other, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.limits.size is 0, not the struct's size");
  options_.group_limits = &limits;
  EXPECT_EQ(wq_store_open_queue(store_, "other", &options_, &other, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.group_limits.size is 0, not the struct's size");
  wq_group_status status{};
  EXPECT_EQ(wq_queue_get_limits(queue_, "a", 1, nullptr, &status, &error_), WQ_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wq::c
