// What stands out in an overview.

#include "server/service/findings.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNowUs = 1'700'000'000'000'000;
constexpr int64_t kMinuteUs = 60'000'000;

class FindingsTest : public ::testing::Test {
 protected:
  FindingsTest() {
    overview_.set_now_us(kNowUs);
    overview_.mutable_health()->set_code(v1::CODE_OK);
    Queue("pods");
  }
  v1::GetOverviewResponse::Queue* Queue(const std::string& name) {
    auto* const queue = overview_.add_queues();
    queue->set_name(name);
    queue->set_open(true);
    return queue;
  }
  v1::GetOverviewResponse::Queue* pods() { return overview_.mutable_queues(0); }
  // "BAD pods: …".
  std::vector<std::string> Found() {
    AddFindings(live_, &overview_);
    std::vector<std::string> texts;
    for (const auto& finding : overview_.findings()) {
      texts.push_back(v1::GetOverviewResponse::Finding::Weight_Name(finding.weight()) + " " +
                      finding.queue() + ": " + finding.text());
    }
    return texts;
  }
  void SetQueued(uint64_t count, int64_t age_us) {
    pods()->mutable_counts()->set_queued(count);
    pods()->set_oldest_added_at_us(kNowUs - age_us);
    pods()->set_workers(1);
    pods()->set_dones_per_second(1);
  }

  bool live_ = true;
  v1::GetOverviewResponse overview_;
};

TEST_F(FindingsTest, NothingStandsOutInAQueueThatWorks) {
  SetQueued(100, 5 * kMinuteUs);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(FindingsTest, AStoreThatIsNotDurable) {
  overview_.mutable_health()->set_code(v1::CODE_NOT_DURABLE);
  overview_.mutable_health()->set_message("the disk\x1b[31m is full");
  EXPECT_THAT(Found(), ElementsAre("BAD : The store is not durable: the disk\\x1b[31m is full"));
}

TEST_F(FindingsTest, QuarantineFailuresAndPauses) {
  pods()->mutable_counts()->set_failing(7);
  pods()->mutable_counts()->set_quarantined(1);
  pods()->mutable_counts()->set_paused(true);
  auto* const nodes = Queue("nodes");
  nodes->mutable_counts()->set_quarantined(2);
  nodes->mutable_counts()->set_paused(true);
  nodes->set_paused_until_us(kNowUs + 1);
  EXPECT_THAT(Found(), ElementsAre("BAD pods: 1 key is in quarantine until it is released.",
                                   "BAD nodes: 2 keys are in quarantine until they are released.",
                                   "ODD pods: 7 keys are failing.",
                                   "ODD pods: The queue is paused: nothing is handed out until it "
                                   "is resumed.",
                                   "ODD nodes: The queue is paused for a time."));
}

TEST_F(FindingsTest, StuckKeysAndAFullQueue) {
  pods()->mutable_counts()->set_stuck(1);
  pods()->set_full_per_second(0.1);
  Queue("nodes")->mutable_counts()->set_stuck(2);
  EXPECT_THAT(
      Found(),
      ElementsAre(
          "BAD pods: 1 key is stuck: its worker holds it for longer than the queue's stuck_after.",
          "BAD nodes: 2 keys are stuck: their workers hold them for longer than the queue's "
          "stuck_after.",
          "ODD pods: The queue is full: adds wait, or are refused."));
}

TEST_F(FindingsTest, AQueueThatShutsDown) {
  pods()->mutable_counts()->set_shutting_down(true);
  EXPECT_THAT(Found(), ElementsAre(HasSubstr("ODD pods: The queue is shutting down")));
}

TEST_F(FindingsTest, AQueueOnWhichNobodyWorks) {
  SetQueued(1, kMinuteUs);
  pods()->set_dones_per_second(0);
  EXPECT_THAT(Found(), ElementsAre("BAD pods: Keys are queued, and nobody works on them."));
  pods()->set_workers(0);
  EXPECT_THAT(Found(), ElementsAre("BAD pods: Keys are queued, and nobody works on them: no worker "
                                   "is connected to the server."));
  live_ = false;  // As on disk: keys that somebody works on are queued.
  EXPECT_THAT(Found(), IsEmpty());
  live_ = true;
  pods()->mutable_counts()->set_processing(1);
  EXPECT_THAT(Found(), IsEmpty());
  SetQueued(1, kMinuteUs - 1);
  pods()->set_dones_per_second(0);
  pods()->mutable_counts()->set_processing(0);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(FindingsTest, AnOldKey) {
  SetQueued(1, 60 * kMinuteUs - 1);
  EXPECT_THAT(Found(), IsEmpty());
  const std::vector<std::pair<int64_t, std::string>> ages = {
      {60, "an hour"}, {359, "an hour"}, {360, "six hours"}, {1440, "a day"}, {20'000, "a week"}};
  for (const auto& [minutes, text] : ages) {
    SetQueued(1, minutes * kMinuteUs);
    EXPECT_THAT(Found(),
                ElementsAre("ODD pods: The oldest queued key waits for more than " + text + "."));
  }
}

TEST_F(FindingsTest, AQueueThatIsNotOpenSaysNothing) {
  SetQueued(1, 1000 * kMinuteUs);
  pods()->set_open(false);
  EXPECT_THAT(Found(), IsEmpty());
}

}  // namespace
}  // namespace wq
