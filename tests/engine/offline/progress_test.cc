// ProgressCallback: what the calls that read or write a whole store report of themselves.
#include "wq/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/repair.h"
#include "wq/snapshot.h"
#include "wq/store.h"

namespace wq {
namespace {

using testing::ElementsAre;

constexpr uint64_t kKeysStored = 3500;

// A step, as it was when it ended.
struct SeenStep {
  std::string name;
  uint64_t reports = 0;
  uint64_t done = 0;
  uint64_t total = 0;
};

// Checks what is true of all progress, and collects the steps.
class StepRecorder {
 public:
  ProgressCallback callback() {
    return [this](const Progress& now) {
      EXPECT_EQ(std::this_thread::get_id(), thread_);
      if (steps_.empty() || steps_.back().name != now.step || now.done == 0) {
        EXPECT_EQ(now.done, 0U) << now.step;
        steps_.push_back({.name = std::string(now.step), .total = now.total});
      } else {
        EXPECT_GT(now.done, steps_.back().done) << now.step;
        EXPECT_EQ(now.total, steps_.back().total) << now.step;
      }
      ++steps_.back().reports;
      steps_.back().done = now.done;
    };
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const SeenStep& step : steps_) names.push_back(step.name);
    return names;
  }
  const SeenStep& operator[](size_t i) const { return steps_.at(i); }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<SeenStep> steps_;
};

class ProgressTest : public testing::Test {
 protected:
  void SetUp() override {
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    ASSERT_EQ(Store::Open({.create_if_missing = true}, store_, &store).ToString(), "Ok");
    ASSERT_EQ(store->OpenQueue("q", {}, &queue).ToString(), "Ok");
    for (uint64_t n = 0; n < kKeysStored; ++n) {
      ASSERT_EQ(queue->Add("key-" + std::to_string(n)).ToString(), "Ok");
    }
    ASSERT_EQ(store->Close().ToString(), "Ok");
  }

  const support::ScratchDirectory root_;
  const std::string store_ = root_ / "store";
  StepRecorder recorder_;
};

TEST_F(ProgressTest, OfVerify) {
  VerifyReport report;
  ASSERT_EQ(Verify(store_, {.progress = recorder_.callback()}, &report).ToString(), "Ok");
  ASSERT_TRUE(report.ok());
  ASSERT_THAT(recorder_.names(), ElementsAre("checking files", "checking rows"));
  EXPECT_GT(recorder_[0].total, kKeysStored);
  EXPECT_EQ(recorder_[0].done, recorder_[0].total);
  EXPECT_GE(recorder_[1].done, kKeysStored);
  EXPECT_GE(recorder_[1].total, kKeysStored);
  EXPECT_GE(recorder_[1].reports, kKeysStored / 1000);
}

TEST_F(ProgressTest, OfRepair) {
  RepairReport report;
  const std::string into = root_ / "into";
  ASSERT_EQ(Repair(store_, into, {.progress = recorder_.callback()}, &report).ToString(), "Ok");
  ASSERT_THAT(recorder_.names(),
              ElementsAre("reading files", "comparing records", "writing records"));
  EXPECT_GT(recorder_[0].total, kKeysStored);
  EXPECT_EQ(recorder_[0].done, recorder_[0].total);
  EXPECT_EQ(recorder_[1].reports, 1U);
  EXPECT_GT(recorder_[2].total, kKeysStored);
  EXPECT_EQ(recorder_[2].done, recorder_[2].total);
}

TEST_F(ProgressTest, OfASnapshotAndItsRestore) {
  for (const bool link : {true, false}) {
    StepRecorder recorder;
    SnapshotInfo taken;
    const SnapshotOptions options = {.link_tables = link, .progress = recorder.callback()};
    ASSERT_EQ(CreateSnapshot(store_, root_ / "snapshots", options, &taken).ToString(), "Ok");
    ASSERT_THAT(recorder.names(), ElementsAre("copying files", "checking files"));
    EXPECT_GT(recorder[0].total, kKeysStored);
    EXPECT_EQ(recorder[0].done, recorder[0].total);
    EXPECT_EQ(recorder[1].done, recorder[1].total);
  }
  SnapshotInfo from;
  const std::string restored = root_ / "restored";
  ASSERT_EQ(
      RestoreSnapshot(root_ / "snapshots", restored, {.progress = recorder_.callback()}, &from)
          .ToString(),
      "Ok");
  ASSERT_THAT(recorder_.names(), ElementsAre("copying files", "checking files", "checking files"));
  EXPECT_EQ(recorder_[0].done, recorder_[0].total);
  EXPECT_EQ(recorder_[2].done, recorder_[2].total);
}

TEST_F(ProgressTest, OfACopyThatIsCancelled) {
  SnapshotInfo taken;
  const SnapshotOptions options = {
      .link_tables = false, .cancelled = [] { return true; }, .progress = recorder_.callback()};
  EXPECT_EQ(CreateSnapshot(store_, root_ / "snapshots", options, &taken).code(),
            StatusCode::kIOError);
  EXPECT_THAT(recorder_.names(), ElementsAre("copying files"));
}

}  // namespace
}  // namespace wq
