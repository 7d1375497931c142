// ErrorCache: one scan for calls at the same time, and how long its answer is used again.

#include "server/browse/error_cache.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace wq {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ErrorCacheTest : public ::testing::Test {
 protected:
  // A scan that takes so long and finds as many groups as there were scans.
  Status Scan(milliseconds took, GroupedErrors* errors) {
    now_ms_ += took.count();
    errors->groups.resize(++scans_);
    return status_;
  }
  // The number of groups; 0: an error.
  size_t Get(const std::string& queue, milliseconds took) {
    std::shared_ptr<const GroupedErrors> errors;
    const Status s = cache_.Get(
        queue, [&](GroupedErrors* to) { return Scan(took, to); }, &errors);
    return s.ok() ? errors->groups.size() : 0;
  }

  std::atomic<int64_t> now_ms_ = 1'000'000;
  std::atomic<size_t> scans_ = 0;
  Status status_;
  ErrorCache cache_{[this] { return ErrorCache::TimePoint(milliseconds(now_ms_.load())); }};
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

TEST_F(ErrorCacheTest, AnErrorIsNotKept) {
  status_ = Status::TimedOut("busy");
  EXPECT_EQ(Get("pods", seconds(2)), 0U);
  status_ = Status::Ok();
  EXPECT_EQ(Get("pods", seconds(2)), 2U);
}

TEST_F(ErrorCacheTest, CallsAtTheSameTimeShareAScan) {
  std::promise<void> begun;
  std::promise<void> end;
  std::vector<std::future<size_t>> calls;
  const auto get = [&] {
    std::shared_ptr<const GroupedErrors> errors;
    const auto scan = [&](GroupedErrors* to) {
      begun.set_value();
      end.get_future().wait();
      return Scan(seconds(1), to);
    };
    EXPECT_TRUE(cache_.Get("pods", scan, &errors).ok());
    return errors->groups.size();
  };
  calls.push_back(std::async(std::launch::async, get));
  begun.get_future().wait();
  for (int i = 0; i < 30; ++i) {
    calls.push_back(std::async(std::launch::async, get));
  }
  end.set_value();
  for (std::future<size_t>& call : calls) {
    EXPECT_EQ(call.get(), 1U);  // A second scan would also have set `begun` again, and thrown.
  }
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
