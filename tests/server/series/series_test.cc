// The counters of queues over an hour.

#include "server/series/series.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wq/clock.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr size_t kPoints = Series::kPoints;
constexpr float kNone = kNotMeasured;

class SeriesTest : public ::testing::Test {
 protected:
  // Begins in the middle of a slot.
  SeriesTest() : clock_({7'000'000, 1'700'000'005'000'000}) {}

  void Add(const QueueSample& sample, const std::string& queue = "pods") {
    series_.Add(clock_.Now(), {{queue, sample}});
  }
  // A queue through which `rate` keys a second go, for this long.
  void Flow(uint64_t rate, std::chrono::seconds time) {
    for (int64_t i = 0; i < time.count() / 10; ++i) {
      clock_.Advance(seconds(10));
      sample_.totals.adds += rate * 10;
      sample_.totals.dones += rate * 10;
      Add(sample_);
    }
  }
  Series::Reading Read(const std::string& queue = "pods") const {
    return series_.Read(queue, clock_.WallUs());
  }
  static size_t Measured(const Series::Reading& reading) {
    size_t count = 0;
    for (const Point& point : reading.points) {
      count += point.queued == kNone ? 0 : 1;
    }
    return count;
  }

  ManualClock clock_;
  Series series_;
  QueueSample sample_{.queued = 50, .processing = 20, .oldest_age_seconds = 6};
};

TEST_F(SeriesTest, APointHasLevelsAndRates) {
  Add({.queued = 1,
       .processing = 2,
       .delayed = 3,
       .failing = 4,
       .quarantined = 5,
       .oldest_age_seconds = 6.5,
       .totals = {.adds = 100, .dones = 200, .failures = 300}});
  const Point first = Read().points.back();
  EXPECT_EQ(first.queued, 1);
  EXPECT_EQ(first.processing, 2);
  EXPECT_EQ(first.delayed, 3);
  EXPECT_EQ(first.failing, 4);
  EXPECT_EQ(first.quarantined, 5);
  EXPECT_EQ(first.oldest_age, 6.5);
  EXPECT_EQ(first.adds, kNone);  // One reading has no rate.
  clock_.Advance(seconds(10));
  Add({.totals = {.adds = 110, .dones = 225, .failures = 301}});
  const Point second = Read().points.back();
  EXPECT_FLOAT_EQ(second.adds, 1);
  EXPECT_FLOAT_EQ(second.dones, 2.5);
  EXPECT_FLOAT_EQ(second.failures, 0.1F);
}

TEST_F(SeriesTest, AQueueThatWasOpenedAgainHasNoRateFirst) {
  Flow(5, seconds(30));
  clock_.Advance(seconds(10));
  Add({});
  EXPECT_EQ(Read().points.back().adds, kNone);
  EXPECT_EQ(Read().points.back().queued, 0);
  clock_.Advance(seconds(10));
  Add({});
  EXPECT_EQ(Read().points.back().adds, 0);
}

TEST_F(SeriesTest, MeanTimesFollowLittlesLaw) {
  Flow(10, hours(1));
  const Series::Reading hour = Read();
  EXPECT_DOUBLE_EQ(hour.queue_seconds.back(), 5);
  EXPECT_DOUBLE_EQ(hour.work_seconds.back(), 2);
  Flow(0, seconds(10));  // Nothing is handed out: no key has a time.
  EXPECT_EQ(Read().queue_seconds.back(), kNone);
}

TEST_F(SeriesTest, KeysThatWereTakenAndAreHeldWereHandedOut) {
  Add({.queued = 30});
  clock_.Advance(seconds(10));
  Add({.queued = 10, .processing = 20});
  const Series::Reading hour = Read();
  EXPECT_FLOAT_EQ(hour.points.back().hand_outs, 2);
  EXPECT_DOUBLE_EQ(hour.queue_seconds.back(), 10);  // 20 keys on average, 2 a second.
}

TEST_F(SeriesTest, AnHourIsKept) {
  Flow(10, hours(2));
  const Series::Reading hour = Read();
  EXPECT_EQ(hour.points.size(), kPoints);
  EXPECT_EQ(Measured(hour), kPoints);
  EXPECT_EQ(hour.end_us, clock_.WallUs() / 10'000'000 * 10'000'000);
  for (const Point& point : hour.points) {
    EXPECT_EQ(point.queued, 50);
    EXPECT_FLOAT_EQ(point.dones, 10);
  }
}

TEST_F(SeriesTest, AStepHasOnePoint) {
  Flow(10, seconds(20));
  clock_.Advance(seconds(1));
  Add({.queued = 9});
  EXPECT_EQ(Read().points.back().queued, 50);
}

TEST_F(SeriesTest, ATimeWithoutMeasuringIsAGap) {
  Flow(10, hours(1));
  clock_.Advance(std::chrono::minutes(10));
  const Series::Reading before = Read();
  EXPECT_EQ(before.points.back().queued, kNone);
  EXPECT_EQ(Measured(before), kPoints - 60);
  Flow(10, seconds(10));
  const Series::Reading hour = Read();
  EXPECT_EQ(Measured(hour), kPoints - 60);
  EXPECT_EQ(hour.points[kPoints - 2].queued, kNone);
  EXPECT_EQ(hour.points[kPoints - 61].queued, kNone);
  EXPECT_EQ(hour.points[kPoints - 62].queued, 50);
}

TEST_F(SeriesTest, APointThatIsAboutToBeMeasuredIsNoGap) {
  Flow(10, hours(1));
  clock_.Advance(seconds(9));
  EXPECT_EQ(Read().points.back().queued, 50);
}

TEST_F(SeriesTest, WhenTheWallClockIsSetBackTheLaterPointsGo) {
  Flow(10, hours(1));
  const int64_t wall_us = clock_.WallUs();
  clock_.SetWall(wall_us - 100'000'000);
  Flow(10, seconds(10));
  clock_.SetWall(wall_us);
  const Series::Reading hour = Read();
  EXPECT_EQ(hour.points[kPoints - 10].queued, 50);
  for (size_t i = kPoints - 9; i < kPoints; ++i) {
    EXPECT_EQ(hour.points[i].queued, kNone) << i;
  }
  clock_.SetWall(wall_us - 1'000'000'000'000);  // Longer than all that is kept.
  Flow(10, seconds(10));
  EXPECT_EQ(Measured(Read()), 1U);
}

TEST_F(SeriesTest, QueuesAreKeptApartAndForgottenWithTheirQueue) {
  series_.Add(
      clock_.Now(),
      {{"a", QueueSample{.queued = 1}}, {"b", QueueSample{.queued = 2}}, {"closed", std::nullopt}});
  EXPECT_EQ(Read("a").points.back().queued, 1);
  EXPECT_EQ(Read("b").points.back().queued, 2);
  EXPECT_EQ(Measured(Read("closed")), 0U);
  EXPECT_EQ(Read("closed").points.size(), kPoints);
  clock_.Advance(seconds(10));
  series_.Add(clock_.Now(), {{"a", std::nullopt}});
  EXPECT_EQ(Measured(Read("a")), 1U);
  EXPECT_EQ(Measured(Read("b")), 0U);
  series_.Add(clock_.Now(), {});
  EXPECT_EQ(Measured(Read("a")), 1U);
}

TEST_F(SeriesTest, TheNumberOfQueuesIsBounded) {
  Series::Samples samples;
  for (size_t i = 0; i < Series::kMaxQueues + 5; ++i) {
    samples["q" + std::to_string(10'000 + i)] = QueueSample{.queued = 3};
  }
  series_.Add(clock_.Now(), samples);
  EXPECT_EQ(Measured(Read("q10999")), 1U);
  EXPECT_EQ(Measured(Read("q11000")), 0U);
}

}  // namespace
}  // namespace wq
