// The key limit of a worker that holds keys ahead of its work, by a clock that the test moves.

#include "server/work/session.h"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/metrics_fixture.h"
#include "wq/clock.h"
#include "wq/store.h"

namespace wq {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class NoCarrier final : public StreamCarrier {
 public:
  void Wake() override {}
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    EXPECT_TRUE(Store::OpenInMemory({.clock = &clock_, .metrics = provider_}, &store_).ok());
    EXPECT_TRUE(store_->OpenQueue("q", {.max_requeues = 1}, &queue_).ok());
  }
  ~SessionTest() override {
    session_.reset();
    store_.reset();
  }

  void Begin(uint32_t capacity, bool tells_starts) {
    WorkerTerms terms;
    terms.name = "w";
    terms.capacity = capacity;
    terms.silence_limit = std::chrono::hours(24);
    terms.key_limit = seconds(30);
    terms.tells_starts = tells_starts;
    session_ =
        std::make_unique<Session>(std::move(terms), "id", queue_, nullptr,
                                  std::make_shared<GiveBacks>(), &carrier_, [] { return now_; });
  }
  void Add(int keys) {
    for (int i = 0; i < keys; ++i) {
      EXPECT_TRUE(queue_->Add("key-" + std::to_string(100 + i)).ok());
    }
  }
  // The server assigns what it can, and the worker reads it. A key that is lost before its start is
  // dropped, and its place is free.
  void Pump() {
    std::vector<HeldKey> keys;
    std::vector<Session::Assigned> assigned;
    if (const size_t places = session_->FreePlaces(); places > 0) {
      static_cast<void>(session_->TryGet(places, &keys));
    }
    for (HeldKey& key : keys) {
      assigned.push_back({.token = ++token_, .key = std::move(key)});
    }
    static_cast<void>(session_->Assign(std::move(assigned)));
    v1::WorkResponse response;
    Status end;
    while (session_->Take(&response, &end) == Stream::Next::kMessage) {
    }
    for (const v1::Assignment& one : response.assignments()) {
      waiting_.push_back(one.token());
    }
    v1::WorkRequest request;
    for (const v1::Lost& lost : response.lost()) {
      reasons_.push_back(lost.reason());
      if (std::erase(waiting_, lost.token()) > 0) {
        v1::Answer* const answer = request.add_answers();
        answer->set_token(lost.token());
        answer->mutable_give_back();
      }
    }
    EXPECT_TRUE(session_->Receive(request).ok());
  }
  uint64_t Start() {
    Pump();
    const uint64_t token = waiting_.front();
    waiting_.pop_front();
    v1::WorkRequest request;
    request.add_started(token);
    EXPECT_TRUE(session_->Receive(request).ok());
    return token;
  }
  void Done(uint64_t token) {
    v1::WorkRequest request;
    request.add_answers()->set_token(token);
    request.mutable_answers(0)->mutable_done();
    EXPECT_TRUE(session_->Receive(request).ok());
  }
  void Pass(int time) {
    for (int i = 0; i < time; ++i) {
      clock_.Advance(seconds(1));
      now_ += seconds(1);
      session_->CheckLimits(now_);
      Pump();
    }
  }

  static inline Session::Clock::time_point now_;
  ManualClock clock_;
  std::shared_ptr<FakeProvider> provider_ = std::make_shared<FakeProvider>();
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
  NoCarrier carrier_;
  std::unique_ptr<Session> session_;
  uint64_t token_ = 0;
  std::deque<uint64_t> waiting_;  // Assigned, and not started.
  std::vector<std::string> reasons_;
};

TEST_F(SessionTest, KeysThatAreAssignedFarAheadDoNotFail) {
  Begin(40, true);
  Add(40);
  for (int i = 0; i < 40; ++i) {
    const uint64_t token = Start();
    Pass(20);
    Done(token);
  }
  const QueueCounts counts = queue_->Counts();
  EXPECT_EQ(counts.dones, 40U);
  EXPECT_EQ(counts.failures, 0U);
  EXPECT_EQ(counts.queued + counts.processing + counts.quarantined, 0U);
  EXPECT_THAT(reasons_, Each(std::string("not started within 30 s")));
  const auto worked = provider_->Observed("workqueue_work_duration_seconds{controller=q,name=q}");
  EXPECT_THAT(worked, SizeIs(40));
  EXPECT_THAT(worked, Each(20.0));
}

TEST_F(SessionTest, AStartedKeyFailsAndTheOthersAreQueuedFirst) {
  Begin(3, true);
  Add(4);
  Start();
  Pump();
  clock_.Advance(seconds(30));
  now_ += seconds(30);
  session_->CheckLimits(now_);
  const QueueCounts counts = queue_->Counts();
  EXPECT_EQ(counts.failures, 1U);
  EXPECT_EQ(counts.processing, 0U);
  std::vector<std::string> queued;
  for (const QueuedKey& key : queue_->List()) {
    queued.push_back(key.key);
  }
  EXPECT_THAT(queued, ElementsAre("key-101", "key-102", "key-103"));
  Pump();
  EXPECT_THAT(reasons_, ElementsAre("not answered within 30 s", "not started within 30 s",
                                    "not started within 30 s"));
}

TEST_F(SessionTest, ItsDescriptionKeepsToTheBytesAndAGiveBackIsNotDone) {
  Begin(100, false);
  Add(100);
  Pump();
  constexpr size_t kBytes = 1000;
  size_t room = kBytes;
  v1::Worker described;
  session_->Describe(&described, &room);
  EXPECT_EQ(described.held_count(), 100U);
  EXPECT_GT(described.held_size(), 10);
  v1::Worker held;
  held.mutable_held()->Swap(described.mutable_held());
  EXPECT_LE(held.ByteSizeLong(), kBytes);

  v1::WorkRequest request;
  for (uint64_t token = 1; token <= 4; ++token) {
    request.add_answers()->set_token(token);
  }
  request.mutable_answers(0)->mutable_done();
  request.mutable_answers(1)->mutable_failed();
  request.mutable_answers(2)->mutable_give_back();
  request.mutable_answers(3)->mutable_give_back();
  EXPECT_TRUE(session_->Receive(request).ok());
  session_->Describe(&described, &room);
  EXPECT_EQ(described.done(), 1U);
  EXPECT_EQ(described.failed(), 1U);
}

// Three keys are assigned to each worker. It dies of the first, whose start it has `told`, or not:
// then it was dead before the message was sent.
class SessionDeathTest : public SessionTest, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Told, SessionDeathTest, testing::Bool());

TEST_P(SessionDeathTest, AKeyThatItsWorkersDieOfDoesNotKeepThemFromTheOthers) {
  Add(3);
  const auto queued_after_death = [this] {
    Begin(3, true);
    if (GetParam()) {
      Start();
    } else {
      Pump();
    }
    session_->End(Status::Ok(), /*died=*/true);
    waiting_.clear();
    std::vector<std::string> queued;
    for (const QueuedKey& key : queue_->List()) {
      queued.push_back(key.key);
    }
    return queued;
  };
  EXPECT_THAT(queued_after_death(), ElementsAre("key-100", "key-101", "key-102"));
  EXPECT_THAT(queued_after_death(), ElementsAre("key-101", "key-102", "key-100"));
  Begin(3, true);
  Done(Start());
  Done(Start());
  session_->End(Status::Ok());  // In order: nothing is counted.
  waiting_.clear();
  EXPECT_EQ(queue_->NumRequeues("key-100"), 0U);
  EXPECT_THAT(queued_after_death(), ElementsAre());
  EXPECT_EQ(queue_->NumRequeues("key-100"), 1U);
  clock_.Advance(seconds(1));
  EXPECT_THAT(queued_after_death(), ElementsAre("key-100"));
  EXPECT_THAT(queued_after_death(), ElementsAre("key-100"));
  EXPECT_THAT(queued_after_death(), ElementsAre());
  EXPECT_TRUE(queue_->IsQuarantined("key-100"));
  EXPECT_EQ(queue_->Counts().dones, 4U);
}

// At the front, behind others, and after their delays.
TEST_F(SessionTest, KeysComeBackInTheOrderInWhichTheyWereHandedOut) {
  Add(3);
  const auto ready_after = [this](const std::function<void()>& end) {
    Begin(3, false);
    Pump();
    end();
    clock_.Advance(seconds(1));
    std::vector<std::string> queued;
    for (const QueuedKey& key : queue_->List()) {
      queued.push_back(key.key);
    }
    return queued;
  };
  const auto die = [this] { session_->End(Status::Ok(), /*died=*/true); };
  for (int deaths = 1; deaths <= 3; ++deaths) {
    EXPECT_THAT(ready_after(die), ElementsAre("key-100", "key-101", "key-102")) << deaths;
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(queue_->Forget("key-" + std::to_string(100 + i)).ok());
  }
  EXPECT_THAT(ready_after([this] {
                now_ += seconds(30);
                session_->CheckLimits(now_);
              }),
              ElementsAre("key-100", "key-101", "key-102"));
}

TEST_F(SessionTest, AWorkerThatTakesNoMoreKeysHasNotBegunTheOneOnItsWay) {
  Add(1);
  for (int end = 0; end < 3; ++end) {
    Begin(1, true);
    Pump();
    v1::WorkRequest goodbye;
    goodbye.set_capacity(0);
    EXPECT_TRUE(session_->Receive(goodbye).ok());
    session_->End(Status::Ok(), /*died=*/true);
    waiting_.clear();
  }
  EXPECT_EQ(queue_->Counts().failures, 0U);
  EXPECT_EQ(queue_->Len(), 1U);
}

TEST_F(SessionTest, AWorkerThatTellsNoStartBeginsEveryKeyAtItsAssignment) {
  Begin(2, false);
  Add(2);
  Pump();
  Pass(29);
  EXPECT_EQ(queue_->Counts().failures, 0U);
  Pass(1);
  EXPECT_EQ(queue_->Counts().failures, 2U);
}

}  // namespace
}  // namespace wq
