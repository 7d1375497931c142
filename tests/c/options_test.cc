// The options of the C interface that Go's tests do not set; what is out of range is refused by
// name. Lists of keys.

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/c/c_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/wait.h"
#include "wq/store_view.h"

namespace wq::c {
namespace {

class OptionsCTest : public CTest {
 protected:
  OptionsCTest() {
    // The group of a key is its first byte.
    options_.group_of = [](void*, const char* key, size_t, char* group, size_t) {
      *group = *key;
      return size_t{1};
    };
  }

  wq_code AddWith(std::string_view key) {
    return wq_queue_add(queue_, key.data(), key.size(), &add_, nullptr, &error_);
  }
  // Opens a queue that is refused, and returns why.
  std::string Refused(const wq_queue_options& options) {
    wq_queue queue = WQ_NO_QUEUE;
    EXPECT_EQ(wq_store_open_queue(store_, "other", &options, &queue, &error_), WQ_INVALID_ARGUMENT);
    return error_.message;
  }

  wq_queue_options options_ = Sized<wq_queue_options>();
  wq_add_options add_ = Sized<wq_add_options>();
};

TEST_F(OptionsCTest, AFullQueueWaitsOrRefusesAndAStuckKeyIsCounted) {
  options_.max_pending = 1;
  options_.stuck_after_us = 1;
  OpenQueue(&options_);
  EXPECT_EQ(Add("a"), WQ_OK);
  add_.has_wait_for_room = 1;
  EXPECT_EQ(AddWith("b"), WQ_FULL);
  EXPECT_EQ(Counts().full, 1u);
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(support::Eventually([this] { return Counts().stuck == 1; }));
  EXPECT_EQ(wq_queue_close(queue_, &error_), WQ_OK);
  options_.when_full = WQ_WHEN_FULL_REFUSE;
  OpenQueue(&options_);
  EXPECT_EQ(Add("a"), WQ_OK);  // It was in memory.
  EXPECT_EQ(Add("b"), WQ_FULL);
}

TEST_F(OptionsCTest, LimitsBoundGroupsAndTheQueue) {
  auto of_groups = Sized<wq_group_limits>();
  of_groups.per_second = 0.001;
  of_groups.burst = 2;
  auto of_queue = Sized<wq_group_limits>();
  of_queue.max_processing = 3;
  const int32_t lanes[] = {5};
  options_.order = WQ_ORDER_FAIR;
  options_.lanes = lanes;
  options_.lane_count = 1;
  options_.group_limits = &of_groups;
  options_.limits = &of_queue;
  OpenQueue(&options_);
  for (const char* const key : {"a1", "a2", "a3", "b1"}) EXPECT_EQ(Add(key), WQ_OK);
  add_.has_lane = 1;
  add_.lane = 5;
  EXPECT_EQ(AddWith("c"), WQ_OK) << error_.message;
  for (const char* const key : {"c", "a1", "b1", "TimedOut"}) EXPECT_EQ(Get(), key);
  EXPECT_EQ(Done("c"), WQ_OK);
  for (const char* const key : {"a2", "TimedOut"}) EXPECT_EQ(Get(), key);
  EXPECT_EQ(Done("a1"), WQ_OK);
  EXPECT_EQ(Get(), "TimedOut");  // The group has no token.
  EXPECT_EQ(Counts().held_back, 1u);
}

TEST_F(OptionsCTest, WhatIsOutOfRangeIsRefusedByName) {
  wq_queue_options bad = options_;
  bad.when_full = -1;
  EXPECT_EQ(Refused(bad), "options.when_full is -1");
  bad = options_;
  bad.stuck_after_us = -1;
  EXPECT_EQ(Refused(bad), "stuck_after is -1 us");
  wq_group_limits limits{};
  bad = options_;
  bad.limits = &limits;
  EXPECT_EQ(Refused(bad), "options.limits.size is 0, not the struct's size");
  bad.group_limits = &limits;
  EXPECT_EQ(Refused(bad), "options.group_limits.size is 0, not the struct's size");
  limits.size = sizeof limits;
  limits.per_second = -1;
  EXPECT_NE(Refused(bad), "");

  OpenQueue();
  add_.has_debounce = 1;
  add_.debounce_quiet_us = -1;
  EXPECT_EQ(AddWith("a"), WQ_INVALID_ARGUMENT);
  add_.has_debounce = 0;
  add_.delay_mode = 3;
  EXPECT_EQ(wq_queue_add_after(queue_, "a", 1, 1, &add_, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.delay_mode is 3");
}

// The status of a store with these options on disk, or the error of its opening; sets `bytes` to
// the size of its process log.
wq_code ProcessLogOf(const wq_store_options& options, uint64_t* bytes) {
  const support::ScratchDirectory dir;
  wq_store store = WQ_NO_STORE;
  wq_code code = wq_store_open((dir / "store").c_str(), &options, &store, nullptr);
  if (code == WQ_OK) {
    code = wq_store_process_log_status(store, nullptr);
    std::unique_ptr<StoreView> view;
    EXPECT_TRUE(StoreView::Open(dir / "store", &view).ok());
    *bytes = view->info().process_log_bytes;
    EXPECT_EQ(wq_store_free(store, nullptr), WQ_OK);
  }
  return code;
}

TEST_F(OptionsCTest, TheProcessLogHasASizeOrIsOff) {
  uint64_t bytes = 0;
  wq_store_options options{};
  options.create_if_missing = 1;
  options.size = offsetof(wq_store_options, process_log_bytes);  // Of an earlier version.
  options.process_log_bytes = (uint64_t{1} << 30) + 1;           // Behind its end: not read.
  EXPECT_EQ(ProcessLogOf(options, &bytes), WQ_OK);
  EXPECT_GE(bytes, uint64_t{8} << 20);
  options.size = sizeof options;
  EXPECT_EQ(ProcessLogOf(options, &bytes), WQ_INVALID_ARGUMENT);
  options.process_log_bytes = uint64_t{1} << 20;
  EXPECT_EQ(ProcessLogOf(options, &bytes), WQ_OK);
  EXPECT_GE(bytes, uint64_t{1} << 20);
  EXPECT_LT(bytes, uint64_t{2} << 20);
  options.no_process_log = 1;
  EXPECT_EQ(ProcessLogOf(options, &bytes), WQ_NOT_FOUND);
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(wq_store_process_log_status(store_, &error_), WQ_NOT_FOUND);  // In memory.
}

// --- Lists of keys: one that is refused does not hold up the others ---

std::string ListOf(const std::vector<std::string>& keys) {
  std::string list;
  for (const std::string& key : keys) {
    list += {static_cast<char>(key.size()), 0, 0, 0};
    list += key;
  }
  return list;
}

TEST_F(OptionsCTest, ABatchCountsAllRefusedKeysAndNamesThoseThatHaveRoom) {
  OpenQueue();
  const std::string list = ListOf({"", "a", "", "b"});
  wq_refused refused[1];
  auto result = Sized<wq_batch_result>();
  result.refused_keys = refused;
  result.refused_capacity = 1;
  EXPECT_EQ(wq_queue_add_batch(queue_, list.data(), list.size(), nullptr, &result, &error_), WQ_OK);
  EXPECT_EQ(result.added, 2U);
  EXPECT_EQ(result.refused, 2U);
  EXPECT_EQ(refused[0].index, 0U);
  EXPECT_EQ(refused[0].code, WQ_INVALID_ARGUMENT);
}

TEST_F(OptionsCTest, DoneOfABatchGoesOnBehindAKeyThatIsNotProcessing) {
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
