// The server of a replicated store, whose ownership comes and goes.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tests/support/memory_log.h"
#include "tests/support/wait.h"
#include "wq/live_store.h"
#include "wq/live_worker.h"
#include "wq/queue.h"
#include "wq/queue_access.h"
#include "wq/replicated_log.h"
#include "wq/server.h"
#include "wq/store.h"

namespace wq {
namespace {

class ReplicatedTest : public testing::Test {
 protected:
  std::unique_ptr<Store> Open(const std::string& name) {
    std::unique_ptr<Store> store;
    const Status s = Store::Open(
        {.create_if_missing = true,
         .replication = Replication{.log = log_, .name = name, .lease = std::chrono::hours(1)}},
        dir_ / name, &store);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return store;
  }
  static std::unique_ptr<Server> Serve(Store* store) {
    std::unique_ptr<Server> server;
    const auto open = [store](std::string_view name, bool create, Queue** queue) {
      return store->OpenQueue(name, {.create_if_missing = create}, queue);
    };
    const Status s = Server::Open(store, {.control_socket = true, .open_queue = open}, &server);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return server;
  }
  static void Own(Store* store) {
    const Status s = store->WaitForLeadership(support::kPatience);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  std::unique_ptr<LiveStore> Connect(const std::string& name) const {
    std::unique_ptr<LiveStore> live;
    EXPECT_TRUE(LiveStore::Connect(dir_ / name, &live).ok());
    return live;
  }

  const support::ScratchDirectory dir_;
  const std::shared_ptr<ReplicatedLog> log_ = std::make_shared<support::MemoryLog>();
};

TEST_F(ReplicatedTest, CallsOfAReplicaAreNotOwner) {
  const auto owner = Open("owner");
  Own(owner.get());
  const auto replica = Open("replica");
  const auto server = Serve(replica.get());
  const auto live = Connect("replica");
  std::unique_ptr<LiveWorker> worker;
  EXPECT_EQ(live->Work("pods", {}, &worker).code(), StatusCode::kNotOwner);
  const std::vector<std::string_view> keys = {"a"};
  BatchResult result;
  EXPECT_EQ(live->Access("pods", true)
                ->Add(keys, {.durability = Durability::kReplicated}, {}, &result)
                .code(),
            StatusCode::kNotOwner);
}

TEST_F(ReplicatedTest, TokensGrowOverTheOwnershipsOfOthers) {
  const auto first = Open("first");
  Own(first.get());
  const auto server = Serve(first.get());
  const auto live = Connect("first");
  Queue* pods = nullptr;
  ASSERT_TRUE(first->OpenQueue("pods", {}, &pods).ok());
  ASSERT_TRUE(pods->Add("a", {.durability = Durability::kReplicated}).ok());
  std::unique_ptr<LiveWorker> worker;
  ASSERT_TRUE(live->Work("pods", {}, &worker).ok());
  AssignedKey key;
  ASSERT_TRUE(worker->Get(&key).ok());
  const uint64_t first_token = key.token;

  const auto second = Open("second");
  ASSERT_TRUE(first->Resign().ok());
  EXPECT_EQ(worker->Answer(key.token, WorkAnswer::Done()).code(), StatusCode::kNotOwner);
  Own(second.get());
  uint64_t between = 0;
  ASSERT_TRUE(second->ReserveTokens(1, &between).ok());
  EXPECT_GT(between, first_token);
  ASSERT_TRUE(second->Resign().ok());

  Own(first.get());
  ASSERT_TRUE(live->Work("pods", {}, &worker).ok());
  ASSERT_TRUE(worker->Get(&key).ok());
  EXPECT_EQ(key.key, "a");
  EXPECT_GT(key.token, between);
  EXPECT_TRUE(worker->Answer(key.token, WorkAnswer::Done()).ok());
}

}  // namespace
}  // namespace wq
