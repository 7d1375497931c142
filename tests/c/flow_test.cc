// Flow control through the C interface: each option has its effect, and bad ones are refused.

#include <cstring>
#include <string>

#include "tests/c/c_fixture.h"
#include "tests/support/wait.h"

namespace wq::c {
namespace {

class FlowCTest : public CTest {
 protected:
  FlowCTest() { options_.size = sizeof options_; }

  wq_counts Counts() {
    wq_counts counts{};
    counts.size = sizeof counts;
    EXPECT_EQ(wq_queue_counts(queue_, &counts, &error_), WQ_OK);
    return counts;
  }
  wq_code AddWith(const char* key, const wq_add_options& options) {
    return wq_queue_add(queue_, key, strlen(key), &options, nullptr, &error_);
  }

  wq_queue_options options_{};
};

TEST_F(FlowCTest, AddsAreDebouncedByTheQueueOrByTheCall) {
  constexpr int64_t kHourUs = INT64_C(3600000000);
  options_.debounce_quiet_us = kHourUs;
  options_.debounce_max_wait_us = kHourUs;
  OpenQueue(&options_);
  wq_add_options at_once{};
  at_once.size = sizeof at_once;
  at_once.has_debounce = 1;
  EXPECT_EQ(wq_queue_add(queue_, "a", 1, nullptr, nullptr, &error_), WQ_OK);
  EXPECT_EQ(AddWith("b", at_once), WQ_OK);
  EXPECT_EQ(Counts().delayed, 1u);
  EXPECT_EQ(Get(), "b");
  at_once.debounce_quiet_us = -1;
  EXPECT_EQ(AddWith("c", at_once), WQ_INVALID_ARGUMENT);
}

TEST_F(FlowCTest, AKeyIsResyncedByTheQueueOrByTheCall) {
  options_.resync_period_us = 1000;
  OpenQueue(&options_);
  EXPECT_EQ(wq_queue_add(queue_, "a", 1, nullptr, nullptr, &error_), WQ_OK);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Get(INT64_C(600000000)), "a");
    EXPECT_EQ(wq_queue_done(queue_, "a", 1, &error_), WQ_OK);
  }
  wq_add_options resync{};
  resync.size = sizeof resync;
  resync.delay_mode = WQ_DELAY_RESYNC;
  EXPECT_EQ(wq_queue_add_after(queue_, "b", 1, INT64_C(3600000000), &resync, nullptr, &error_),
            WQ_OK);
  EXPECT_GE(Counts().resyncs, 1u);
  resync.delay_mode = 3;
  EXPECT_EQ(wq_queue_add_after(queue_, "b", 1, 1, &resync, nullptr, &error_), WQ_INVALID_ARGUMENT);
}

TEST_F(FlowCTest, ALaterDelayReplacesAnEarlierOne) {
  OpenQueue(&options_);
  wq_add_options replace{};
  replace.size = sizeof replace;
  replace.delay_mode = WQ_DELAY_REPLACE;
  int32_t outcome = WQ_HELD;
  EXPECT_EQ(wq_queue_add_after(queue_, "a", 1, INT64_C(3600000000), nullptr, &outcome, &error_),
            WQ_OK);
  EXPECT_EQ(wq_queue_add_after(queue_, "a", 1, INT64_C(7200000000), nullptr, &outcome, &error_),
            WQ_OK);
  EXPECT_EQ(outcome, WQ_DEDUPLICATED);
  EXPECT_EQ(wq_queue_add_after(queue_, "a", 1, INT64_C(7200000000), &replace, &outcome, &error_),
            WQ_OK);
  EXPECT_EQ(outcome, WQ_ADDED);
  replace.delay_mode = 3;
  EXPECT_EQ(wq_queue_add_after(queue_, "a", 1, INT64_C(7200000000), &replace, &outcome, &error_),
            WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.delay_mode is 3");
}

TEST_F(FlowCTest, AFullQueueRefusesOrWaits) {
  options_.max_pending = 1;
  OpenQueue(&options_);
  EXPECT_EQ(wq_queue_add(queue_, "a", 1, nullptr, nullptr, &error_), WQ_OK);
  wq_add_options soon{};
  soon.size = sizeof soon;
  soon.has_wait_for_room = 1;
  EXPECT_EQ(AddWith("b", soon), WQ_FULL);
  EXPECT_EQ(Counts().full, 1u);
  EXPECT_EQ(wq_queue_close(queue_, &error_), WQ_OK);
  options_.when_full = WQ_WHEN_FULL_REFUSE;
  OpenQueue(&options_);
  EXPECT_EQ(wq_queue_add(queue_, "a", 1, nullptr, nullptr, &error_), WQ_OK);  // It was in memory.
  EXPECT_EQ(wq_queue_add(queue_, "b", 1, nullptr, nullptr, &error_), WQ_FULL);
}

TEST_F(FlowCTest, AStuckKeyIsCounted) {
  options_.stuck_after_us = 1;
  OpenQueue(&options_);
  EXPECT_EQ(wq_queue_add(queue_, "a", 1, nullptr, nullptr, &error_), WQ_OK);
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(support::Eventually([this] { return Counts().stuck == 1; }));
}

TEST_F(FlowCTest, BadOptionsAreRefused) {
  const auto refused = [this](const wq_queue_options& options) {
    wq_queue queue = WQ_NO_QUEUE;
    EXPECT_EQ(wq_store_open_queue(store_, "other", &options, &queue, &error_), WQ_INVALID_ARGUMENT);
    return std::string(error_.message);
  };
  wq_queue_options bad = options_;
  bad.when_full = -1;
  EXPECT_EQ(refused(bad), "options.when_full is -1");
  bad = options_;
  bad.stuck_after_us = -1;
  EXPECT_EQ(refused(bad), "stuck_after is -1 us");
}

}  // namespace
}  // namespace wq::c
