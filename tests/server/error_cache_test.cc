// ErrorCache: how long an answer is used again, and how many are kept.

#include "server/browse/error_cache.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace wq {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ErrorCacheTest : public ::testing::Test {
 protected:
  // The number of groups, which is that of scans when it was made; a scan takes so long.
  size_t Get(const std::string& queue, milliseconds took) {
    if (const auto errors = cache_.Find(queue); errors != nullptr) {
      return errors->groups.size();
    }
    GroupedErrors errors;
    errors.begun = cache_.Now();
    now_ms_ += took.count();
    errors.groups.resize(++scans_);
    return cache_.Put(queue, std::move(errors))->groups.size();
  }

  int64_t now_ms_ = 1'000'000;
  size_t scans_ = 0;
  ErrorCache cache_{[this] { return ErrorCache::TimePoint(milliseconds(now_ms_)); }};
};

TEST_F(ErrorCacheTest, AnAnswerIsUsedTenTimesAsLongAsItTook) {
  EXPECT_EQ(Get("pods", seconds(2)), 1U);
  now_ms_ += 17'999;  // 20 s after the scan began.
  EXPECT_EQ(Get("pods", seconds(2)), 1U);
  EXPECT_EQ(Get("nodes", milliseconds(0)), 2U);
  EXPECT_EQ(Get("nodes", milliseconds(0)), 3U) << "what costs nothing is always new";
  now_ms_ += 1;
  EXPECT_EQ(Get("pods", seconds(100)), 4U);
  now_ms_ -= 40'001;
  EXPECT_EQ(Get("pods", seconds(1)), 4U);
  now_ms_ += 1;
  EXPECT_EQ(Get("pods", seconds(1)), 5U) << "a minute at most";
}

TEST_F(ErrorCacheTest, AnOldAnswerIsKept) {
  EXPECT_EQ(cache_.FindOld("pods"), nullptr);
  Get("pods", seconds(2));
  now_ms_ += 3'600'000;
  EXPECT_EQ(cache_.Find("pods"), nullptr);
  ASSERT_NE(cache_.FindOld("pods"), nullptr);
  EXPECT_EQ(cache_.FindOld("pods")->groups.size(), 1U);
}

TEST_F(ErrorCacheTest, KeepsFewAnswers) {
  for (size_t i = 0; i < 3 * ErrorCache::kMaxAnswers; ++i) {
    Get(std::to_string(i), seconds(1));
  }
  const size_t scans = scans_;
  Get("0", seconds(1));
  EXPECT_EQ(scans_, scans + 1);
}

}  // namespace
}  // namespace wq
