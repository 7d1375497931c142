// Workers in other processes: Work.Work through LiveWorker, against a store that is served here.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "tests/server/server_fixture.h"
#include "tests/support/wait.h"
#include "wq/live_store.h"
#include "wq/live_worker.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class WorkTest : public testing::Test, protected ServerFixture {
 protected:
  WorkTest() { Serve(); }

  std::unique_ptr<LiveWorker> Work(const LiveWorkerOptions& options = {},
                                   const std::string& queue = "pods") const {
    std::unique_ptr<LiveWorker> worker;
    const Status s = Connect()->Work(queue, options, &worker);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return worker;
  }
  static AssignedKey Get(LiveWorker* worker) {
    AssignedKey key;
    const Status s = worker->Get(&key);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return key;
  }
  std::vector<std::string> Queued() const {
    std::vector<std::string> keys;
    for (const QueuedKey& key : pods_->List(100)) {
      keys.push_back(key.key);
    }
    return keys;
  }
  // Waits until the counters are as wanted.
  void Await(const std::function<bool(const QueueCounts&)>& wanted) const {
    ASSERT_TRUE(support::Eventually([&] { return wanted(pods_->Counts()); })) << "not in time";
  }
};

TEST_F(WorkTest, AKeyIsAssignedWithWhatTheQueueKnowsOfIt) {
  ASSERT_TRUE(pods_->Add("a", {.lane = 7}).ok());
  const auto worker = Work();
  const AssignedKey key = Get(worker.get());
  EXPECT_EQ(key.key, "a");
  EXPECT_EQ(key.lane, 7);
  EXPECT_EQ(key.attempt, 1U);
  EXPECT_EQ(key.failures, 0U);
  EXPECT_GT(key.token, 0U);
  EXPECT_GT(key.added_at_us, 0);
  EXPECT_EQ(pods_->Counts().processing, 1U);
  ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::Done()).ok());
  EXPECT_EQ(pods_->Counts().processing, 0U);
  EXPECT_EQ(pods_->Counts().dones, 1U);
}

TEST_F(WorkTest, AKeyIsAssignedWithTheCausesOfItsAddsAndSoIsItsRetry) {
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto access = Connect()->Access("pods", false);
  const std::vector<std::string_view> keys = {"a"};
  BatchResult result;
  ASSERT_TRUE(access->Add(keys, {.reason = "changed", .trace_parent = trace}, {}, &result).ok());
  ASSERT_TRUE(access->Add(keys, {.reason = "owner changed"}, {}, &result).ok());
  EXPECT_EQ(access->Add(keys, {.reason = "a\nb"}, {}, &result).code(),
            StatusCode::kInvalidArgument);
  const Causes causes{.list = {{"changed", trace}, {"owner changed", ""}}};
  const auto worker = Work();
  const AssignedKey first = Get(worker.get());
  EXPECT_EQ(first.causes, causes);
  ASSERT_TRUE(worker->Answer(first.token, WorkAnswer::Failed("boom")).ok());
  ASSERT_TRUE(pods_->EndDelay("a").ok());
  const AssignedKey retry = Get(worker.get());
  EXPECT_EQ(retry.causes, causes);
  ASSERT_TRUE(worker->Answer(retry.token, WorkAnswer::Done()).ok());
  ASSERT_TRUE(pods_->Add("a").ok());
  EXPECT_TRUE(Get(worker.get()).causes.empty());
}

TEST_F(WorkTest, AKeyThatIsAddedLaterReachesAWaitingWorker) {
  const auto worker = Work();
  AssignedKey key;
  EXPECT_EQ(worker->TryGet(&key).code(), StatusCode::kTimedOut);
  ASSERT_TRUE(pods_->Add("late").ok());
  EXPECT_EQ(Get(worker.get()).key, "late");
}

TEST_F(WorkTest, AFailureIsCountedAndTheNextAttemptKnowsIt) {
  ASSERT_TRUE(pods_->Add("a").ok());
  const auto worker = Work();
  AssignedKey key = Get(worker.get());
  AnswerOutcome outcome;
  ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::Failed("no disk"), &outcome).ok());
  EXPECT_EQ(outcome.failures, 1U);
  EXPECT_FALSE(outcome.quarantined);
  EXPECT_EQ(pods_->Counts().delayed, 1U);
  ASSERT_TRUE(pods_->EndDelay("a").ok());
  const uint64_t first_token = key.token;
  key = Get(worker.get());
  EXPECT_EQ(key.attempt, 2U);
  EXPECT_EQ(key.failures, 1U);
  EXPECT_EQ(key.last_error, "no disk");
  EXPECT_GT(key.token, first_token);
  ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::Quarantine("for good"), &outcome).ok());
  EXPECT_TRUE(outcome.quarantined);
  EXPECT_EQ(outcome.failures, 2U);
  EXPECT_TRUE(pods_->IsQuarantined("a"));
  EXPECT_EQ(pods_->Counts().processing, 0U);
}

TEST_F(WorkTest, RequeueAfterForgetsTheFailuresAndDelays) {
  ASSERT_TRUE(pods_->AddRateLimited("a", "why").ok());
  ASSERT_TRUE(pods_->EndDelay("a").ok());
  const auto worker = Work();
  const AssignedKey key = Get(worker.get());
  ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::RequeueAfter(std::chrono::hours(1))).ok());
  EXPECT_EQ(pods_->NumRequeues("a"), 0U);
  EXPECT_EQ(pods_->Counts().delayed, 1U);
  EXPECT_EQ(pods_->Counts().processing, 0U);
}

TEST_F(WorkTest, NoAnswerLosesAKeyThatIsLongerThanTheQueueTakesNow) {
  const std::string key(100, 'k');
  const std::pair<WorkAnswer, bool> answers[] = {{WorkAnswer::RequeueAfter(seconds(0)), true},
                                                 {WorkAnswer::RequeueAfter(hours(1)), false},
                                                 {WorkAnswer::Failed("why"), false},
                                                 {WorkAnswer::GiveBack(), true}};
  for (const auto& [answer, queued] : answers) {
    ASSERT_TRUE(pods_->Add(key).ok());
    server_.reset();
    ASSERT_TRUE(store_->CloseQueue(pods_).ok());
    const auto limiter = std::make_shared<ItemExponentialFailure>(hours(1), hours(1));
    ASSERT_TRUE(store_->OpenQueue("pods", {.max_key_bytes = 50, .limiter = limiter}, &pods_).ok());
    Serve();
    const auto worker = Work({.capacity = 1});
    const AssignedKey assigned = Get(worker.get());
    ASSERT_EQ(assigned.key, key);
    worker->SetCapacity(0);
    const Status s = worker->Answer(assigned.token, answer);
    EXPECT_TRUE(s.ok()) << s.ToString();
    const QueueCounts counts = pods_->Counts();
    EXPECT_EQ(counts.queued, queued ? 1U : 0U);
    EXPECT_EQ(counts.delayed, queued ? 0U : 1U);
    EXPECT_EQ(counts.processing, 0U);
    ASSERT_TRUE(pods_->Delete(key).ok());
    server_.reset();
    ASSERT_TRUE(store_->CloseQueue(pods_).ok());
    ASSERT_TRUE(store_->OpenQueue("pods", {}, &pods_).ok());
  }
}

TEST_F(WorkTest, TheKeysOfAWorkerThatEndsAreFirstAgainWithoutAFailure) {
  for (const char* const key : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(pods_->Add(key).ok());
  }
  auto worker = Work({.capacity = 3});
  EXPECT_EQ(Get(worker.get()).key, "a");
  EXPECT_EQ(Get(worker.get()).key, "b");
  EXPECT_EQ(Get(worker.get()).key, "c");
  worker.reset();
  Await([](const QueueCounts& counts) { return counts.processing == 0; });
  EXPECT_THAT(Queued(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(pods_->NumRequeues("a"), 0U);
  const AssignedKey key = Get(Work().get());
  EXPECT_EQ(key.key, "a");
  EXPECT_EQ(key.attempt, 2U);
  EXPECT_EQ(key.failures, 0U);
}

TEST_F(WorkTest, AnAnswerWithAnOldTokenIsRefusedAndChangesNothing) {
  ASSERT_TRUE(pods_->Add("a").ok());
  const auto worker = Work();
  const AssignedKey key = Get(worker.get());
  EXPECT_EQ(worker->Answer(key.token + 1, WorkAnswer::Done()).code(), StatusCode::kNotProcessing);
  ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::GiveBack()).ok());
  EXPECT_EQ(worker->Answer(key.token, WorkAnswer::Done()).code(), StatusCode::kNotProcessing);
  const AssignedKey again = Get(worker.get());
  EXPECT_EQ(again.key, "a");
  EXPECT_GT(again.token, key.token);
  EXPECT_EQ(pods_->Counts().dones, 0U);
}

TEST_F(WorkTest, ATokenIsGreaterThanAllBeforeARestart) {
  ASSERT_TRUE(pods_->Add("a").ok());
  const uint64_t before = Get(Work().get()).token;
  server_.reset();
  store_.reset();
  OpenStore();
  Serve();
  EXPECT_GT(Get(Work().get()).token, before);
}

TEST_F(WorkTest, AKeyThatIsNotAnsweredInTimeIsTakenAndFails) {
  ASSERT_TRUE(pods_->Add("slow").ok());
  std::atomic<int> calls = 0;
  const auto worker = Work({.name = "web", .key_limit = milliseconds(50), .on_ready = [&] {
                              ++calls;
                              calls.notify_all();
                            }});
  AssignedKey key;
  // If the server hears of the start too late, it only puts the key back; then it comes again.
  ASSERT_TRUE(support::Eventually([&] {
    if (key.token != 0) worker->AnswerLater(key.token, WorkAnswer::Done());
    key = Get(worker.get());
    for (int seen = calls; !worker->Lost(key.token); seen = calls) {
      calls.wait(seen);
    }
    Await([](const QueueCounts& counts) { return counts.processing == 0; });
    return pods_->Counts().delayed == 1;
  }));
  EXPECT_EQ(pods_->NumRequeues("slow"), 1U);
  // Its place is free only when it is answered.
  ASSERT_TRUE(pods_->Add("next").ok());
  std::vector<LiveWorkerInfo> workers;
  ASSERT_TRUE(Connect()->Workers("", &workers).ok());
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].held_count, 0U);
  EXPECT_EQ(worker->Answer(key.token, WorkAnswer::Done()).code(), StatusCode::kNotProcessing);
  EXPECT_EQ(Get(worker.get()).key, "next");
}

TEST_F(WorkTest, AKeyThatWaitsInTheWorkerForTooLongDoesNotFail) {
  ASSERT_TRUE(pods_->Add("waits").ok());
  std::atomic<int> calls = 0;
  const auto worker = Work({.key_limit = milliseconds(50), .on_ready = [&] { ++calls; }});
  // It is assigned, lost, and assigned again.
  ASSERT_TRUE(support::Eventually([&] { return calls >= 3; }));
  const AssignedKey key = Get(worker.get());
  EXPECT_EQ(key.key, "waits");
  EXPECT_EQ(key.failures, 0U);
  EXPECT_EQ(key.attempt, 1U);
}

TEST_F(WorkTest, AddedAgainIsAnswered) {
  ASSERT_TRUE(pods_->Add("a").ok());
  const auto worker = Work();
  const AssignedKey key = Get(worker.get());
  bool added_again = true;
  ASSERT_TRUE(worker->AddedAgain(key.token, &added_again).ok());
  EXPECT_FALSE(added_again);
  ASSERT_TRUE(pods_->Add("a").ok());
  ASSERT_TRUE(worker->AddedAgain(key.token, &added_again).ok());
  EXPECT_TRUE(added_again);
  ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::Done()).ok());
  EXPECT_EQ(Get(worker.get()).key, "a");
}

TEST_F(WorkTest, ABadHelloIsRefusedByName) {
  std::unique_ptr<LiveWorker> worker;
  Status s = Connect()->Work("pods", {.capacity = 0}, &worker);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("capacity is 0"));
  s = Connect()->Work("pods", {.silence_limit = milliseconds(1)}, &worker);
  EXPECT_THAT(s.message(), HasSubstr("silence_limit_us is 1000"));
  s = Connect()->Work("pods", {.name = std::string(257, 'x')}, &worker);
  EXPECT_THAT(s.message(), HasSubstr("name"));
  s = Connect()->Work("nodes", {}, &worker);
  EXPECT_EQ(s.code(), StatusCode::kNotFound);
}

TEST_F(WorkTest, TheServersEndEndsTheWorkersAndGivesTheirKeysBack) {
  ASSERT_TRUE(pods_->Add("a").ok());
  const auto worker = Work();
  const AssignedKey key = Get(worker.get());
  server_.reset();
  AssignedKey none;
  EXPECT_FALSE(worker->Get(&none).ok());
  EXPECT_THAT(Queued(), ElementsAre("a"));
  EXPECT_EQ(worker->Answer(key.token, WorkAnswer::Done()).code(), StatusCode::kNotProcessing);
}

TEST_F(WorkTest, AWorkerWithManyPlacesGetsKeysForAllOfThem) {
  for (int i = 0; i < 700; ++i) {
    ASSERT_TRUE(pods_->Add("key-" + std::to_string(i)).ok());
  }
  const auto worker = Work({.capacity = 600});
  const auto full = Work({.capacity = 1});
  Await([](const QueueCounts& counts) { return counts.processing == 601; });
}

TEST_F(WorkTest, ADrainWaitsForTheAnswersAndAssignsNoMore) {
  ASSERT_TRUE(pods_->Add("a").ok());
  ASSERT_TRUE(pods_->Add("b").ok());
  const auto worker = Work();
  const AssignedKey key = Get(worker.get());
  EXPECT_EQ(server_->Drain(milliseconds(1)).code(), StatusCode::kTimedOut);
  std::thread answer([&] { EXPECT_TRUE(worker->Answer(key.token, WorkAnswer::Done()).ok()); });
  EXPECT_TRUE(server_->Drain(support::kPatience).ok());
  answer.join();
  EXPECT_THAT(Queued(), ElementsAre("b"));
}

TEST_F(WorkTest, AQueueWithShardsGivesEachWorkerItsShards) {
  Queue* nodes = nullptr;
  ASSERT_TRUE(store_->OpenQueue("nodes", {.shards = 4}, &nodes).ok());
  const auto one = Work({.name = "one", .capacity = 10}, "nodes");
  const auto two = Work({.name = "two", .capacity = 10}, "nodes");
  std::vector<LiveWorkerInfo> workers;
  ASSERT_TRUE(Connect()->Workers("nodes", &workers).ok());
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0].shards.size() + workers[1].shards.size(), 4U);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(nodes->Add("key-" + std::to_string(i)).ok());
  }
  int done = 0;
  AssignedKey key;
  while (done < 40) {
    for (LiveWorker* const worker : {one.get(), two.get()}) {
      if (worker->TryGet(&key).ok()) {
        EXPECT_LE(nodes->Counts().processing, 4U);
        ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::Done()).ok());
        ++done;
      }
    }
  }
  EXPECT_EQ(nodes->Len(), 0U);
}

}  // namespace
}  // namespace wq
