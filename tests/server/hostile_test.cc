// Clients that misbehave, against a store that is served here: the owner and other clients are not
// disturbed, and what a client can use up is bounded.
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/server_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/wait.h"
#include "wq/live_store.h"
#include "wq/live_worker.h"
#include "wq/v1/admin.grpc.pb.h"
#include "wq/v1/queue.grpc.pb.h"
#include "wq/v1/work.grpc.pb.h"

namespace wq {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr int64_t kSecondUs = 1'000'000;

// A Work stream, message by message. It ends after twice support::kPatience, so that no wait takes
// this end for that which the server makes.
class RawWorker {
 public:
  explicit RawWorker(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::Work::NewStub(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + 2 * support::kPatience);
    stream_ = stub_->Work(&context_);
  }
  ~RawWorker() {
    if (!finished_) {
      context_.TryCancel();
      Finish();
    }
  }
  RawWorker(const RawWorker&) = delete;
  RawWorker& operator=(const RawWorker&) = delete;

  static v1::WorkRequest Hello(uint32_t capacity, const std::string& queue = "pods",
                               int64_t silence_limit_us = 0) {
    v1::WorkRequest request;
    request.mutable_hello()->set_queue(queue);
    request.mutable_hello()->set_capacity(capacity);
    request.mutable_hello()->set_silence_limit_us(silence_limit_us);
    return request;
  }
  bool Send(const v1::WorkRequest& request) { return stream_->Write(request); }
  void SendsNoMore() { stream_->WritesDone(); }
  // Reads a message; false: the stream has ended.
  bool Read() {
    response_.Clear();
    const bool open = stream_->Read(&response_);
    assigned_.insert(assigned_.end(), response_.assignments().begin(),
                     response_.assignments().end());
    results_.insert(results_.end(), response_.results().begin(), response_.results().end());
    return open;
  }
  // Reads until a message has what is wanted.
  bool ReadUntil(const std::function<bool(const v1::WorkResponse&)>& wanted) {
    while (Read()) {
      if (wanted(response_)) {
        return true;
      }
    }
    return false;
  }
  bool ReadAssigned(size_t count) {
    return assigned_.size() >= count ||
           ReadUntil([&](const auto&) { return assigned_.size() >= count; });
  }
  bool ReadResults(size_t count) {
    return results_.size() >= count ||
           ReadUntil([&](const auto&) { return results_.size() >= count; });
  }
  const v1::WorkResponse& response() const { return response_; }
  const std::vector<v1::Assignment>& assigned() const { return assigned_; }
  const std::vector<v1::AnswerResult>& results() const { return results_; }
  // The status that the stream has ended with.
  grpc::Status Finish() {
    while (Read()) {
    }
    finished_ = true;
    return stream_->Finish();
  }

 private:
  const std::unique_ptr<v1::Work::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkRequest, v1::WorkResponse>> stream_;
  v1::WorkResponse response_;
  std::vector<v1::Assignment> assigned_;
  std::vector<v1::AnswerResult> results_;
  bool finished_ = false;
};

v1::WorkRequest DoneFor(const std::vector<uint64_t>& tokens) {
  v1::WorkRequest request;
  for (const uint64_t token : tokens) {
    v1::Answer* const answer = request.add_answers();
    answer->set_token(token);
    answer->mutable_done();
  }
  return request;
}

class HostileTest : public testing::Test, protected ServerFixture {
 protected:
  HostileTest() { Serve(); }

  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateInsecureChannelFromFd("localhost", ConnectUnix().Release());
  }
  size_t Workers() const {
    std::vector<LiveWorkerInfo> workers;
    EXPECT_TRUE(Connect()->Workers("", &workers).ok());
    return workers.size();
  }
  static void AddKeys(Queue* queue, int count, const std::string& prefix = "key-") {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(queue->Add(prefix + std::to_string(i)).ok());
    }
  }
  static void Await(const char* what, const std::function<bool()>& wanted) {
    ASSERT_TRUE(support::Eventually(wanted)) << "not in time: " << what;
  }
  // The owner and a well-behaved worker can use the queue.
  void ExpectServed() {
    std::unique_ptr<LiveWorker> worker;
    ASSERT_TRUE(Connect()->Work("pods", {}, &worker).ok());
    ASSERT_TRUE(pods_->Add("still-served").ok());
    AssignedKey key;
    do {
      ASSERT_TRUE(worker->Get(&key).ok());
      ASSERT_TRUE(worker->Answer(key.token, WorkAnswer::Done()).ok());
    } while (key.key != "still-served");
  }
};

// --- Messages ---

TEST_F(HostileTest, GarbageEndsItsOwnConnectionOnly) {
  const uint64_t seed = support::Seed();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (const char* const start :
       {"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /wq.v1.Queue/Add HTTP/1.1\r\n"}) {
    for (int i = 0; i < 20; ++i) {
      std::string bytes = start;
      for (size_t n = random() % 300; n > 0; --n) {
        bytes += static_cast<char>(random());
      }
      EXPECT_THAT(Say(ConnectUnix(), bytes), testing::Not(HasSubstr("TIMEOUT")));
    }
  }
  ExpectServed();
}

TEST_F(HostileTest, AnAnswerBeforeTheHelloIsRefused) {
  RawWorker worker(Channel());
  worker.Send(DoneFor({1}));
  const grpc::Status s = worker.Finish();
  EXPECT_EQ(s.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(s.error_message(), HasSubstr("has to be a hello"));
}

TEST_F(HostileTest, AMessageThatIsRefusedEndsItsStreamAndItsKeysAreGivenBack) {
  v1::WorkRequest too_long;
  too_long.add_answers()->mutable_failed()->set_error(std::string(size_t{5} << 20, 'x'));
  v1::WorkRequest greedy;
  greedy.set_capacity(4'000'000'000U);
  struct Case {
    v1::WorkRequest request;
    grpc::StatusCode code;
    const char* part;
  };
  for (const Case& c :
       {Case{too_long, grpc::StatusCode::RESOURCE_EXHAUSTED, ""},
        Case{RawWorker::Hello(2), grpc::StatusCode::INVALID_ARGUMENT, "hello"},
        Case{DoneFor(std::vector<uint64_t>(100'001, 1)), grpc::StatusCode::INVALID_ARGUMENT,
             "100000"},
        Case{greedy, grpc::StatusCode::INVALID_ARGUMENT, "capacity is 4000000000"}}) {
    AddKeys(pods_, 1);
    RawWorker worker(Channel());
    v1::WorkRequest hello = RawWorker::Hello(1);
    hello.mutable_hello()->set_tells_starts(true);  // None dies of the key that it is assigned.
    ASSERT_TRUE(worker.Send(hello));
    ASSERT_TRUE(worker.ReadAssigned(1));
    worker.Send(c.request);
    const grpc::Status s = worker.Finish();
    EXPECT_EQ(s.error_code(), c.code) << s.error_message();
    EXPECT_THAT(s.error_message(), HasSubstr(c.part));
    Await("given back", [&] { return pods_->Counts().queued == 1; });
  }
  ExpectServed();
}

TEST_F(HostileTest, AnswersBesideTheHelloHaveResults) {
  RawWorker worker(Channel());
  v1::WorkRequest request = DoneFor({7});
  request.MergeFrom(RawWorker::Hello(1));
  request.add_added_again(8);
  ASSERT_TRUE(worker.Send(request));
  ASSERT_TRUE(worker.ReadResults(1));
  EXPECT_EQ(worker.results()[0].error().code(), v1::CODE_NOT_PROCESSING);
}

TEST_F(HostileTest, AStreamThatBreaksThreeTimesIsAFailureAndOneThatEndsIsNone) {
  for (const bool says_goodbye : {true, false}) {
    const std::string key = says_goodbye ? "polite" : "deadly";
    ASSERT_TRUE(pods_->Add(key).ok());
    for (int i = 0; i < 3; ++i) {
      {
        RawWorker worker(Channel());
        ASSERT_TRUE(worker.Send(RawWorker::Hello(1)));
        ASSERT_TRUE(worker.ReadAssigned(1));
        if (says_goodbye) {
          v1::WorkRequest request;
          request.set_capacity(0);
          request.add_answers()->set_token(worker.assigned()[0].token());
          request.mutable_answers(0)->mutable_give_back();
          ASSERT_TRUE(worker.Send(request));
          worker.SendsNoMore();
          EXPECT_TRUE(worker.Finish().ok());
        }
      }
      EXPECT_TRUE(support::Eventually([&] { return pods_->Counts().processing == 0; }));
    }
    EXPECT_EQ(pods_->NumRequeues(key), says_goodbye ? 0U : 1U);
    ASSERT_TRUE(pods_->Delete(key).ok());
  }
}

TEST_F(HostileTest, AFirstMessageThatIsRefusedIsNoDeath) {
  AddKeys(pods_, 1);
  for (int i = 0; i < 3; ++i) {
    RawWorker worker(Channel());
    v1::WorkRequest request = RawWorker::Hello(1);
    request.set_capacity(100'001);
    ASSERT_TRUE(worker.Send(request));
    EXPECT_EQ(worker.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(pods_->Counts().queued, 1U);
  EXPECT_EQ(pods_->Counts().failing, 0U);
}

TEST_F(HostileTest, AMessageThatTheServerCannotReadIsNoDeath) {
  AddKeys(pods_, 1);
  for (int i = 0; i < 3; ++i) {
    RawWorker worker(Channel());
    ASSERT_TRUE(worker.Send(RawWorker::Hello(1)));
    ASSERT_TRUE(worker.ReadAssigned(1));
    v1::WorkRequest request = DoneFor({worker.assigned()[0].token()});
    request.mutable_answers(0)->mutable_failed()->set_error("not UTF-8: \xff");
    worker.Send(request);
    EXPECT_EQ(worker.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    Await("given back", [&] { return pods_->Counts().queued == 1; });
  }
  EXPECT_EQ(pods_->Counts().failing, 0U);
}

TEST_F(HostileTest, AnAnswerAtReplicatedOnOneMachineIsRefusedAndGivesItsKeyBack) {
  AddKeys(pods_, 2);
  RawWorker worker(Channel());
  ASSERT_TRUE(worker.Send(RawWorker::Hello(2)));
  ASSERT_TRUE(worker.ReadAssigned(2));
  v1::WorkRequest request = DoneFor({worker.assigned()[0].token(), worker.assigned()[1].token()});
  request.mutable_answers(0)->set_durability(v1::DURABILITY_REPLICATED);
  request.mutable_answers(1)->set_durability(v1::DURABILITY_POWER);
  ASSERT_TRUE(worker.Send(request));
  ASSERT_TRUE(worker.ReadResults(2));
  EXPECT_EQ(worker.results()[0].error().code(), v1::CODE_INVALID_ARGUMENT);
  EXPECT_THAT(worker.results()[0].error().message(), HasSubstr("replicated"));
  EXPECT_FALSE(worker.results()[1].has_error());
  EXPECT_EQ(pods_->Counts().dones, 1U);
  Await("handed out again", [&] { return pods_->Counts().processing == 1; });
}

TEST_F(HostileTest, ThousandsOfBogusTokensAreRefused) {
  AddKeys(pods_, 1);
  RawWorker worker(Channel());
  ASSERT_TRUE(worker.Send(RawWorker::Hello(1)));
  ASSERT_TRUE(worker.ReadAssigned(1));
  std::vector<uint64_t> tokens(20'000);
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = i * 0x9E3779B97F4A7C15U;
  }
  ASSERT_TRUE(worker.Send(DoneFor(tokens)));
  ASSERT_TRUE(worker.ReadResults(tokens.size()));
  EXPECT_EQ(pods_->Counts().processing, 1U);
}

TEST_F(HostileTest, ACapacityCanBeChanged) {
  AddKeys(pods_, 10);
  RawWorker worker(Channel());
  ASSERT_TRUE(worker.Send(RawWorker::Hello(5)));
  ASSERT_TRUE(worker.ReadAssigned(5));
  v1::WorkRequest request = DoneFor({worker.assigned()[0].token()});
  request.set_capacity(0);
  ASSERT_TRUE(worker.Send(request));
  ASSERT_TRUE(worker.ReadResults(1));
  EXPECT_EQ(pods_->Counts().processing, 4U);
  request.Clear();
  request.set_capacity(100'000);
  ASSERT_TRUE(worker.Send(request));
  ASSERT_TRUE(worker.ReadAssigned(10));
}

TEST_F(HostileTest, AHalfClosedStreamEndsAndItsKeysAreGivenBack) {
  AddKeys(pods_, 3);
  RawWorker worker(Channel());
  ASSERT_TRUE(worker.Send(RawWorker::Hello(3)));
  ASSERT_TRUE(worker.ReadAssigned(3));
  worker.SendsNoMore();
  EXPECT_TRUE(worker.Finish().ok());
  EXPECT_EQ(pods_->Counts().queued, 3U);
  RawWorker silent(Channel());
  silent.SendsNoMore();
  EXPECT_TRUE(silent.Finish().ok());
}

// --- Work.Send ---

TEST_F(HostileTest, SendNeedsASession) {
  const auto stub = v1::Work::NewStub(Channel());
  for (const std::string& session : {std::string(), std::string(32, '0'), std::string(5000, 'x')}) {
    grpc::ClientContext context;
    v1::SendRequest request;
    request.set_session(session);
    v1::SendResponse response;
    EXPECT_EQ(stub->Send(&context, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  }
}

TEST_F(HostileTest, TwoConnectionsThatSendForOneSessionAnswerATokenOnce) {
  constexpr int kKeys = 200;
  AddKeys(pods_, kKeys);
  RawWorker worker(Channel());
  ASSERT_TRUE(worker.Send(RawWorker::Hello(kKeys)));
  ASSERT_TRUE(worker.Read());
  const std::string session = worker.response().welcome().session();
  ASSERT_TRUE(worker.ReadAssigned(kKeys));
  std::vector<uint64_t> tokens(size_t{3} * kKeys);  // Also tokens that are not assigned.
  const uint64_t first = worker.assigned().front().token();
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = first + i - kKeys;
  }
  const auto send = [&] {
    const auto stub = v1::Work::NewStub(Channel());
    for (const uint64_t token : tokens) {
      grpc::ClientContext context;
      v1::SendRequest request;
      request.set_session(session);
      *request.mutable_request() = DoneFor({token});
      v1::SendResponse response;
      EXPECT_TRUE(stub->Send(&context, request, &response).ok());
    }
  };
  std::thread other(send);
  send();
  other.join();
  ASSERT_TRUE(worker.ReadResults(2 * tokens.size()));
  std::set<uint64_t> accepted;
  for (const v1::AnswerResult& result : worker.results()) {
    EXPECT_TRUE(result.has_error() || accepted.insert(result.token()).second);
  }
  EXPECT_EQ(accepted.size(), size_t{kKeys});
  EXPECT_EQ(pods_->Counts().dones, uint64_t{kKeys});
}

TEST_F(HostileTest, SendIsRefusedWhileTheResultsAreNotRead) {
  RawWorker worker(Channel());
  ASSERT_TRUE(worker.Send(RawWorker::Hello(1)));
  ASSERT_TRUE(worker.Read());
  const auto stub = v1::Work::NewStub(Channel());
  v1::SendRequest request;
  request.set_session(worker.response().welcome().session());
  *request.mutable_request() = DoneFor(std::vector<uint64_t>(2'000, 1));
  grpc::Status s;
  for (int i = 0; i < 100 && s.ok(); ++i) {
    grpc::ClientContext context;
    v1::SendResponse response;
    s = stub->Send(&context, request, &response);
  }
  EXPECT_EQ(s.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(s.error_message(), HasSubstr("does not read"));
}

// --- Clients that do not read or answer ---

// The write to it never ends, so its stream cannot end either. It reads the welcome, so that it is
// there; and only a worker that holds keys is forgotten for its silence.
TEST_F(HostileTest, AWorkerThatDoesNotReadLosesItsKeysAndItsPlace) {
  AddKeys(pods_, 1000, std::string(900, 'x'));
  RawWorker worker(Channel());
  ASSERT_TRUE(worker.Send(RawWorker::Hello(500, "pods", kSecondUs)));
  ASSERT_TRUE(worker.Read());
  Await("forgotten", [&] { return Workers() == 0; });
  Await("given back", [&] { return pods_->Counts().processing == 0; });
  EXPECT_EQ(pods_->Counts().queued, 1000U);
}

TEST_F(HostileTest, MoreConnectionsThanPermittedAreClosed) {
  Serve({.control_socket = true, .max_connections = 20});
  std::vector<std::unique_ptr<RawWorker>> workers;
  size_t refused = 0;
  for (int i = 0; i < 60; ++i) {
    auto worker = std::make_unique<RawWorker>(Channel());
    worker->Send(RawWorker::Hello(1));
    if (worker->Read()) {
      workers.push_back(std::move(worker));
    } else {
      ++refused;
    }
  }
  EXPECT_LE(workers.size(), 20U);
  EXPECT_GE(refused, 40U);
  workers.resize(1);
  Await("connections are free, and no worker is left that would die of the key", [&] {
    std::unique_ptr<LiveStore> live;
    std::vector<LiveWorkerInfo> left;
    return LiveStore::Connect(store_dir_, &live).ok() && live->Workers("", &left).ok() &&
           left.size() == 1;
  });
  AddKeys(pods_, 1);
  ASSERT_TRUE(workers[0]->ReadAssigned(1));
  workers.clear();
  ExpectServed();
}

// --- Queues and stores that change under their workers ---

TEST_F(HostileTest, AnswersWithLongErrorsGoInSeveralMessages) {
  constexpr size_t kKeys = 9000;  // Of 1 KiB of error each: more than a message may have.
  AddKeys(pods_, kKeys);
  std::unique_ptr<LiveWorker> worker;
  ASSERT_TRUE(Connect()->Work("pods", {.capacity = kKeys}, &worker).ok());
  std::vector<AssignedKey> keys(kKeys);
  for (AssignedKey& key : keys) {
    ASSERT_TRUE(worker->Get(&key).ok());
  }
  for (size_t i = 1; i < kKeys; ++i) {
    worker->AnswerLater(keys[i].token, WorkAnswer::Failed(std::string(100'000, 'x')));
  }
  const Status last = worker->Answer(keys[0].token, WorkAnswer::Done());
  EXPECT_TRUE(last.ok()) << last.ToString();
  EXPECT_EQ(pods_->Counts().processing, 0U);
  EXPECT_EQ(pods_->Counts().failing, kKeys - 1);
}

TEST_F(HostileTest, AListOfWorkersWithLongKeysIsShortEnoughToReceive) {
  Queue* queue = nullptr;
  ASSERT_TRUE(store_->OpenQueue("long", {.max_key_bytes = kMaxKeyBytes}, &queue).ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(queue->Add(std::to_string(i) + std::string(60'000, 'x')).ok());
  }
  std::unique_ptr<LiveWorker> worker;
  ASSERT_TRUE(Connect()->Work("long", {.capacity = 100}, &worker).ok());
  AssignedKey key;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(worker->Get(&key).ok());
  }
  std::vector<LiveWorkerInfo> workers;
  ASSERT_TRUE(Connect()->Workers("long", &workers).ok());
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].held_count, 100U);
  EXPECT_GT(workers[0].held.size(), 10U);
  EXPECT_LT(workers[0].held.size(), 20U);
}

TEST_F(HostileTest, WorkersOfADeletedQueueEndAlsoThoseThatConnectNow) {
  Serve({.control_socket = true, .open_queue = [&](std::string_view name, bool, Queue** queue) {
           return store_->OpenQueue(name, {}, queue);
         }});
  std::atomic<bool> stopping = false;
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stopping) {
        RawWorker worker(Channel());
        v1::WorkRequest hello = RawWorker::Hello(4, "jobs");
        hello.mutable_hello()->set_create(true);
        worker.Send(hello);
        while (worker.ReadAssigned(worker.assigned().size() + 1)) {
          worker.Send(DoneFor({worker.assigned().back().token()}));
        }
        EXPECT_NE(worker.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
        ++ended;
      }
    });
  }
  const auto live = Connect();
  const auto access = live->Access("jobs", true);
  for (int round = 0; round < 30 || ended == 0; ++round) {
    const std::vector<std::string_view> keys = {"a", "b", "c", "d", "e"};
    BatchResult result;
    static_cast<void>(access->Add(keys, {}, {}, &result));
    const Status s = live->DeleteQueue("jobs");
    EXPECT_TRUE(s.ok() || s.code() == StatusCode::kNotFound) << s.ToString();
  }
  stopping = true;
  Await("the last workers end", [&] {
    static_cast<void>(live->DeleteQueue("jobs"));
    return Workers() == 0;
  });
  const auto deadline = support::PatienceEnds();
  std::atomic<bool> joined = false;
  std::thread deletes([&] {  // For workers that connect after the last deletion.
    while (!joined && steady_clock::now() < deadline) {
      static_cast<void>(live->DeleteQueue("jobs"));
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  joined = true;
  deletes.join();
}

TEST_F(HostileTest, TheServerIsClosedUnderLoadAndServesAgain) {
  std::atomic<bool> stopping = false;
  std::atomic<uint64_t> answers = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stopping) {
        std::unique_ptr<LiveStore> live;
        std::unique_ptr<LiveWorker> worker;
        AssignedKey key;
        if (LiveStore::Connect(store_dir_, &live).ok() &&
            live->Work("pods", {.capacity = 16}, &worker).ok()) {
          while (worker->Get(&key).ok()) {
            worker->AnswerLater(key.token, WorkAnswer::Done());
            ++answers;
          }
        }
      }
    });
  }
  threads.emplace_back([&] {
    for (uint64_t n = 0; !stopping; ++n) {
      EXPECT_TRUE(pods_->Add("key-" + std::to_string(n % 100)).ok());
    }
  });
  for (int round = 0; round < 5; ++round) {
    const uint64_t until = answers + 50;
    Await("answers", [&] { return answers >= until; });
    server_->Close();
    EXPECT_EQ(pods_->Counts().processing, 0U) << "all keys are given back";
    Serve({.control_socket = true});
  }
  server_->Close();
  stopping = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace wq
