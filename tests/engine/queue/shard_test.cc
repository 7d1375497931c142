// Shards: one key of a shard at a time, in order, by the worker that serves it.

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/state/shard_table.h"
#include "tests/engine/queue/queue_fixture.h"
#include "tests/engine/state/state_fixture.h"

namespace wq {
namespace {

using std::chrono::microseconds;

// --- The shards of a worker ---

TEST(ShardTable, SpreadsTheShardsEvenlyAndMovesAsFewAsPossible) {
  ShardTable table(10);
  const uint64_t a = table.Join();
  EXPECT_EQ(table.Shards(a).size(), 10U);
  const uint64_t b = table.Join();
  EXPECT_EQ(table.Shards(a).size(), 5U);
  EXPECT_EQ(table.Shards(b).size(), 5U);
  const std::vector<uint32_t> of_b = table.Shards(b);
  const uint64_t c = table.Join();
  EXPECT_EQ(table.Shards(c).size(), 3U);
  EXPECT_THAT(of_b, ::testing::IsSupersetOf(table.Shards(b)));
  table.Leave(b);
  EXPECT_EQ(table.Shards(a).size() + table.Shards(c).size(), 10U);
  EXPECT_EQ(table.Shards(a).size(), 5U);
}

TEST(ShardOf, IsStable) {
  // Another result would move the keys of existing stores to other shards. The values are xxh3 of
  // the bytes, modulo the count.
  EXPECT_EQ(ShardOf("node-1", 1), 0);
  EXPECT_EQ(ShardOf("node-1", 65535), 2395);
  EXPECT_EQ(ShardOf("node-2", 65535), 49463);
  EXPECT_EQ(ShardOf("", 65535), 31393);
}

// --- Workers ---

class ShardedQueueTest : public QueueTest {
 protected:
  ShardedQueueTest() { CloseAndOpen({.group_of = GroupOf, .shards = 4}); }

  // "group/name" -> "group".
  static std::string GroupOf(std::string_view key) {
    return std::string(key.substr(0, key.find('/')));
  }

  std::unique_ptr<Worker> Join() {
    std::unique_ptr<Worker> worker;
    EXPECT_TRUE(queue_->Join(&worker).ok());
    return worker;
  }
  static std::string GetNow(Worker& worker) {
    std::string key;
    const Status s = worker.GetFor(microseconds(0), &key);
    return s.ok() ? key : std::string(StatusCodeName(s.code()));
  }
};

TEST_F(ShardedQueueTest, KeysAreHandedOutToWorkersOnly) {
  Add("g/a");
  EXPECT_EQ(Get(), "InvalidArgument");
  EXPECT_EQ(GetNow(*Join()), "g/a");
  CloseAndOpen({});  // Without shards.
  std::unique_ptr<Worker> worker;
  EXPECT_EQ(queue_->Join(&worker).code(), StatusCode::kInvalidArgument);
}

TEST_F(ShardedQueueTest, TheGroupOfAKnownKeyIsKept) {
  auto asked = std::make_shared<int>(0);
  CloseAndOpen(
      {.group_of = [asked](auto) { return "g" + std::to_string((*asked)++); }, .shards = 4});
  Add("g/a");
  auto worker = Join();
  ASSERT_EQ(GetNow(*worker), "g/a");
  ASSERT_TRUE(queue_->AddRateLimited("g/a", "boom").ok());
  ASSERT_TRUE(queue_->Done("g/a").ok());
  EXPECT_EQ(*asked, 2);  // At each Add.
  ASSERT_TRUE(queue_->EndDelay("g/a").ok());
  std::vector<HeldKey> held;
  ASSERT_TRUE(worker->TryGet(1, &held).ok());
  EXPECT_EQ(held.at(0).group, "g0");
}

TEST_F(ShardedQueueTest, AWorkerThatLeavesHandsItsShardsOver) {
  for (int i = 0; i < 20; ++i) {
    Add("g" + std::to_string(i) + "/x");
  }
  auto stays = Join();
  auto leaves = Join();
  EXPECT_EQ(stays->Shards().size(), 2U);
  const std::string held = GetNow(*leaves);
  leaves.reset();
  EXPECT_EQ(stays->Shards(), (std::vector<uint32_t>{0, 1, 2, 3}));
  std::set<std::string> got;
  for (std::string key = GetNow(*stays); key != "TimedOut"; key = GetNow(*stays)) {
    EXPECT_NE(ShardOf(GroupOf(key), 4), ShardOf(GroupOf(held), 4)) << "its shard is not free yet";
    got.insert(key);
    ASSERT_TRUE(queue_->Done(key).ok());
  }
  ASSERT_TRUE(queue_->Done(held).ok());
  for (std::string key = GetNow(*stays); key != "TimedOut"; key = GetNow(*stays)) {
    got.insert(key);
    ASSERT_TRUE(queue_->Done(key).ok());
  }
  EXPECT_EQ(got.size(), 19U);
}

// The workers take turns, and each has a key in each of its two shards all the time.
TEST_F(ShardedQueueTest, EachShardIsServedBesideOtherWorkers) {
  CloseAndOpen({.shards = 4});
  for (int i = 0; i < 20; ++i) {
    Add("key " + std::to_string(i));
  }
  std::unique_ptr<Worker> first;
  std::unique_ptr<Worker> second;
  ASSERT_TRUE(queue_->Join(&first).ok());
  ASSERT_TRUE(queue_->Join(&second).ok());
  std::map<uint32_t, int> served;
  for (int i = 0; i < 20; ++i) {
    for (Worker* const worker : {first.get(), second.get()}) {
      std::string key;
      ASSERT_TRUE(worker->GetFor(microseconds(0), &key).ok());
      ++served[ShardOf(key, 4)];
      ASSERT_TRUE(queue_->Add(key).ok());
      ASSERT_TRUE(queue_->Done(key).ok());
    }
  }
  EXPECT_THAT(served, ::testing::ElementsAre(::testing::Pair(0, 10), ::testing::Pair(1, 10),
                                             ::testing::Pair(2, 10), ::testing::Pair(3, 10)));
}

TEST_F(ShardedQueueTest, AKeyThatIsLetGoWakesTheWorkerOfTheShard) {
  for (const char* key : {"g/a", "g/b", "g/c"}) Add(key);
  auto worker = Join();
  ASSERT_EQ(GetNow(*worker), "g/a");
  const auto next = [&worker](const std::function<Status()>& let_go) {
    auto got = std::async(std::launch::async, [&worker] {
      std::string key;
      return worker->Get(&key).ok() ? key : "failed";
    });
    EXPECT_TRUE(let_go().ok());
    return got.get();
  };
  EXPECT_EQ(next([this] { return queue_->PutBack("g/a"); }), "g/a");
  EXPECT_EQ(next([this] { return queue_->Done("g/a"); }), "g/b");
  ASSERT_TRUE(queue_->Quarantine("g/b").ok());
  EXPECT_EQ(next([this] { return queue_->PutBack("g/b"); }), "g/c");
}

TEST_F(ShardedQueueTest, ShutDownReleasesWorkersWhenAllShardsAreEmpty) {
  Add("g/a");
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<std::string>> ends;
  std::mutex mu;
  std::multiset<std::string> got;
  for (int i = 0; i < 6; ++i) {
    workers.push_back(Join());
  }
  for (const auto& worker : workers) {
    ends.push_back(std::async(std::launch::async, [&, worker = worker.get()] {
      std::string key;
      Status s;
      while ((s = worker->Get(&key)).ok()) {
        const std::lock_guard lock(mu);
        got.insert(key);
        EXPECT_TRUE(queue_->Done(key).ok());
      }
      return std::string(StatusCodeName(s.code()));
    }));
  }
  EXPECT_TRUE(queue_->ShutDownWithDrain(std::chrono::hours(1)).ok());
  for (auto& end : ends) {
    EXPECT_EQ(end.get(), "ShuttingDown");
  }
  EXPECT_EQ(got, (std::multiset<std::string>{"g/a"}));
}

// --- On disk ---

class ShardStateTest : public ::testing::Test, public StateFixture {
 protected:
  ShardStateTest() { Reopen({.shards = 4}); }
};

TEST_F(ShardStateTest, TheNumberOfShardsIsOnDisk) {
  const auto on_disk = [this] {
    storage::QueueStateRecord record;
    std::string buffer;
    EXPECT_TRUE(storage::GetQueueState(storage(), kId, &buffer, &record).ok());
    return record.shards;
  };
  EXPECT_EQ(on_disk(), 4U);
  Add("a", {}, "g");
  EXPECT_EQ(on_disk(), 4U);
  Reopen({.shards = 9});
  EXPECT_EQ(on_disk(), 9U);
  Reopen({});  // An opening without shards leaves the number as it is.
  Add("b", {}, "g");
  Crash();
  EXPECT_EQ(on_disk(), 9U);
}

}  // namespace
}  // namespace wq
