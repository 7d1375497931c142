// The sampler's thread and its file, with a clock that the test advances.

#include "server/series/sampler.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::seconds;

class SamplerTest : public ::testing::Test {
 protected:
  void Open() {
    sampler_ = std::make_unique<Sampler>(
        Sampler::Options{.clock = &clock_, .directory = dir_ / "", .read = [this] {
                           Series::Samples samples{{"pods", QueueSample{.queued = queued_}}};
                           ++readings_;  // Last: the test changes queued_ once it sees this.
                           return samples;
                         }});
    const int before = readings_;
    ASSERT_TRUE(sampler_->Start().ok());
    Await(before + 1);
  }
  void Await(int readings) const {
    EXPECT_TRUE(support::Eventually([&] { return readings_ >= readings; }));
  }
  // The last two points; the sampler is closed, so that they are there.
  std::string Last() {
    sampler_->Close();
    const Series::Reading hour =
        sampler_->series().Read("pods", Series::Range::kHour, clock_.WallUs());
    const auto text = [&hour](size_t back) {
      return std::to_string(
          static_cast<int>(hour.points[hour.points.size() - back][SeriesField::kQueued]));
    };
    return text(2) + " " + text(1);
  }
  bool HasFile() const { return std::filesystem::exists(dir_ / "page.series"); }

  const support::ScratchDirectory dir_;
  ManualClock clock_;
  std::atomic<int> readings_{0};
  std::atomic<uint64_t> queued_{5};
  std::unique_ptr<Sampler> sampler_;
};

TEST_F(SamplerTest, MeasuresAtTheStartAndEveryTenSeconds) {
  Open();
  EXPECT_EQ(readings_, 1);
  queued_ = 6;
  clock_.Advance(seconds(10));
  Await(2);
  EXPECT_EQ(Last(), "5 6");
  EXPECT_EQ(readings_, 2);
}

TEST_F(SamplerTest, ARestartGoesOnWithTheFile) {
  Open();
  sampler_->Close();
  EXPECT_TRUE(HasFile());
  clock_.Advance(seconds(10));
  queued_ = 8;
  Open();
  EXPECT_EQ(Last(), "5 8");
}

TEST_F(SamplerTest, WritesTheFileOnceAMinute) {
  Open();
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(seconds(10));
    Await(i + 2);
  }
  EXPECT_FALSE(HasFile());
  clock_.Advance(seconds(10));
  EXPECT_TRUE(support::Eventually([&] { return HasFile(); }));
}

TEST_F(SamplerTest, ADamagedFileIsReplaced) {
  std::ofstream(dir_ / "page.series") << "wqSERIES is not this";
  Open();
  EXPECT_EQ(Last(), "-1 5");
  clock_.Advance(seconds(10));
  Open();
  EXPECT_EQ(Last(), "5 5");
}

TEST_F(SamplerTest, WithoutADirectoryThereIsNoFile) {
  Sampler sampler({.clock = &clock_, .read = [] { return Series::Samples(); }});
  ASSERT_TRUE(sampler.Start().ok());
  sampler.Close();
  sampler.Close();
  EXPECT_FALSE(HasFile());
}

TEST_F(SamplerTest, AFileThatCannotBeWrittenIsNoError) {
  Sampler sampler({.clock = &clock_, .directory = dir_ / "missing", .read = [] {
                     return Series::Samples{{"pods", QueueSample{.queued = 1}}};
                   }});
  ASSERT_TRUE(sampler.Start().ok());
  sampler.Close();
}

}  // namespace
}  // namespace wq
