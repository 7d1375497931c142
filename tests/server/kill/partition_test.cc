// Workers that are cut off from the server while their connections stay open: a proxy between them
// holds the bytes of both directions back, passes them on later, or closes the connection.
//
// WQ_SEED is the seed (a run prints its own), WQ_PARTITION_EVENTS the number of times
// that a connection is cut off.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "server/net/socket.h"
#include "tests/server/kill/event_log.h"
#include "tests/server/kill/judge.h"
#include "tests/server/server_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/proxy.h"
#include "wq/live_store.h"
#include "wq/live_worker.h"

namespace wq::support {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The server's socket, under the name of another directory, whose connections can be cut off.
class ProxyOf : public Proxy {
 public:
  ProxyOf(const std::string& dir, const std::string& target_dir)
      : Proxy(Listen(dir), [target_dir] {
          SocketFile file;
          FileDescriptor fd(-1);
          EXPECT_TRUE(OpenSocketFile(target_dir, "control.sock", &file).ok());
          return ConnectToFile(file, &fd).ok() ? fd.Release() : -1;
        }) {}
  void CutOff(bool cut = true) {
    Cut(Way::kToServer, cut);
    Cut(Way::kToClient, cut);
  }
  void Heal() { CutOff(false); }

 private:
  static int Listen(const std::string& dir) {
    std::filesystem::create_directory(dir);
    SocketFile file;
    FileDescriptor fd(-1);
    EXPECT_TRUE(OpenSocketFile(dir, "control.sock", &file).ok());
    EXPECT_TRUE(ListenOnFile(file, &fd).ok());
    return fd.Release();
  }
};

class PartitionTest : public testing::Test, protected ServerFixture {
 protected:
  PartitionTest() { Serve({.control_socket = true}); }

  static std::unique_ptr<LiveWorker> Work(const std::string& dir) {
    std::unique_ptr<LiveStore> live;
    std::unique_ptr<LiveWorker> worker;
    if (LiveStore::Connect(dir, &live).ok()) {
      static_cast<void>(live->Work("pods", {.capacity = 4, .silence_limit = seconds(1)}, &worker));
    }
    return worker;
  }
  void WorkOn(const std::string& dir);
  void Add(uint64_t seed);

  const std::string log_file_ = dir_ / "log";
  EventLog log_{log_file_, true};
  std::atomic<bool> ending_ = false;
};

TEST_F(PartitionTest, AWorkerThatIsCutOffLosesItsKeysAndItsLateAnswerIsRefused) {
  ProxyOf proxy(dir_ / "proxy", store_dir_);
  const auto cut_off = Work(dir_ / "proxy");
  ASSERT_NE(cut_off, nullptr);
  ASSERT_TRUE(pods_->Add("a").ok());
  AssignedKey first;
  ASSERT_TRUE(cut_off->Get(&first).ok());
  proxy.CutOff();
  const auto other = Work(store_dir_);
  ASSERT_NE(other, nullptr);
  AssignedKey second;
  const auto deadline = steady_clock::now() + seconds(20);
  while (!other->TryGet(&second).ok()) {
    ASSERT_LT(steady_clock::now(), deadline) << "the key was not taken from the silent worker";
    log_.WaitForSize(UINT64_MAX, milliseconds(5));
  }
  EXPECT_EQ(second.key, "a");
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(second.attempt, 2U);
  EXPECT_FALSE(cut_off->Lost(first.token)) << "it cannot know";
  cut_off->AnswerLater(first.token, WorkAnswer::Done());
  proxy.Heal();
  AssignedKey none;
  EXPECT_EQ(cut_off->Get(&none).code(), StatusCode::kTimedOut);
  EXPECT_EQ(pods_->Counts().dones, 0U);
  EXPECT_EQ(pods_->Counts().processing, 1U);
  EXPECT_TRUE(other->Answer(second.token, WorkAnswer::Done()).ok());
}

TEST_F(PartitionTest, AShortDelayLosesNothing) {
  ProxyOf proxy(dir_ / "proxy", store_dir_);
  const auto worker = Work(dir_ / "proxy");
  ASSERT_NE(worker, nullptr);
  ASSERT_TRUE(pods_->Add("a").ok());
  AssignedKey key;
  ASSERT_TRUE(worker->Get(&key).ok());
  proxy.CutOff();
  worker->AnswerLater(key.token, WorkAnswer::Done());
  proxy.Heal();
  bool added_again = true;
  EXPECT_TRUE(worker->AddedAgain(key.token, &added_again).ok());
  EXPECT_EQ(pods_->Counts().dones, 1U);
}

void PartitionTest::WorkOn(const std::string& dir) {
  while (!ending_) {
    Event event{.kind = EventKind::kSessionBegins, .session = log_.NewSession()};
    log_.Add(event);
    const auto worker = Work(dir);
    AssignedKey key;
    while (worker != nullptr && worker->Get(&key).ok()) {
      event.key = static_cast<uint32_t>(std::strtoul(key.key.c_str(), nullptr, 10));
      event.token = key.token;
      event.detail = 0;
      event.kind = EventKind::kAssigned;
      log_.Add(event);
      event.detail = kDoneDetail | kDurableDetail;  // No server is killed.
      event.kind = EventKind::kAnswerSent;
      log_.Add(event);
      const Status s = worker->Answer(key.token, WorkAnswer::Done());
      if (s.ok() || (s.code() == StatusCode::kNotProcessing && !worker->ended())) {
        event.kind = s.ok() ? EventKind::kAnswerAccepted : EventKind::kAnswerRefused;
        log_.Add(event);
      }
    }
  }
}

void PartitionTest::Add(uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!ending_ && !log_.nearly_full()) {
    if (pods_->Len() > 100) {
      log_.WaitForSize(log_.size() + 100, milliseconds(20));
      continue;
    }
    Event event{.kind = EventKind::kAddBegins};
    event.key = 1 + static_cast<uint32_t>(random() % 200);
    event.token = log_.Add(event);
    // One key in eight is long.
    std::string key = std::to_string(event.key);
    key.resize(event.key % 8 == 0 ? size_t{4096} >> (event.key / 8 % 10) : key.size(), '.');
    if (pods_->Add(key).ok()) {
      event.kind = EventKind::kAdded;
      log_.Add(event);
    }
  }
}

TEST_F(PartitionTest, NoKeyIsAssignedTwiceAtOnceWhileWorkersAreCutOff) {
  const uint64_t seed = support::Seed();
  const uint64_t events = FromEnvironment("WQ_PARTITION_EVENTS", 6);
  std::cout << "replay with WQ_SEED=" << seed << " WQ_PARTITION_EVENTS=" << events << "\n";
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<ProxyOf>> proxies;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    const std::string dir = dir_ / ("proxy-" + std::to_string(i));
    proxies.push_back(std::make_unique<ProxyOf>(dir, store_dir_));
    threads.emplace_back([this, dir] { WorkOn(dir); });
  }
  threads.emplace_back([this] { WorkOn(store_dir_); });  // This one is never cut off.
  threads.emplace_back([this, add_seed = random()] { Add(add_seed); });
  for (uint64_t i = 0; i < events; ++i) {
    ProxyOf* const proxy = proxies[random() % proxies.size()].get();
    proxy->CutOff();
    // Up to twice the silence limit, so that many answers are late.
    const auto until = steady_clock::now() + milliseconds(random() % 3 == 0 ? 10 : 1300);
    while (steady_clock::now() < until) {
      log_.WaitForSize(UINT64_MAX, std::chrono::duration_cast<std::chrono::microseconds>(
                                       until - steady_clock::now()));
    }
    if (random() % 3 == 0) {
      proxy->Break();
    }
    proxy->Heal();
  }
  ending_ = true;
  const auto deadline = steady_clock::now() + seconds(30);
  while (pods_->Counts().queued + pods_->Counts().processing > 0 &&
         steady_clock::now() < deadline) {
    log_.WaitForSize(log_.size() + 1, milliseconds(20));
  }
  server_->Close();
  for (std::thread& thread : threads) {
    thread.join();
  }
  const Judgement judgement = Judge(log_.Read(), {.may_lose_keys = true});
  for (const std::string& violation : judgement.violations) {
    ADD_FAILURE() << violation;
  }
  std::cout << "total: " << events << " partitions, " << judgement.accepted << " accepted answers, "
            << judgement.refused << " refused answers\n";
  EXPECT_GT(judgement.accepted, 100U);
}

}  // namespace
}  // namespace wq::support
