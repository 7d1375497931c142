// The listings of a queue that goes on meanwhile: pages of queued keys, of quarantined keys, of
// limits and cursors.

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/environment.h"
#include "wq/queue.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct ListCase {
  const char* name;
  QueueOptions options;
};

std::vector<std::string> KeysOf(const std::vector<QueuedKey>& listed) {
  std::vector<std::string> keys;
  for (const QueuedKey& key : listed) {
    keys.push_back(key.key);
  }
  return keys;
}

class ListTest : public QueueTest, public ::testing::WithParamInterface<ListCase> {
 protected:
  ListTest() { CloseAndOpen(GetParam().options); }

  // Some keys in two lanes, and in groups of unlike lengths.
  void AddKeys(int count) {
    for (int i = 0; i < count; ++i) {
      AddOptions add;
      add.lane = i % 3 == 0 ? kSlowLane : kFastLane;
      const std::string group = "group " + std::to_string(i % (1 + i % 17));
      add.group = group;
      ASSERT_TRUE(queue_->Add("key-" + std::to_string(i), add).ok());
    }
  }
  std::vector<std::string> All() const { return KeysOf(queue_->List(0, SIZE_MAX)); }
  // By pages. `between` is called after each page.
  std::vector<std::string> Paged(
      size_t limit, const std::function<void()>& between = [] {}) const {
    std::vector<QueuedKey> keys;
    std::string page;
    do {
      const Status s = queue_->ListPage(0, limit, &page, &keys);
      EXPECT_TRUE(s.ok()) << s.ToString();
      between();
    } while (!page.empty());
    return KeysOf(keys);
  }
};

TEST_P(ListTest, PagesAreTheWholeList) {
  AddKeys(3000);
  const std::vector<std::string> all = All();
  ASSERT_THAT(all, SizeIs(3000));
  EXPECT_EQ(Paged(1000), all);  // The last page is full, and one more is empty.
  EXPECT_EQ(Paged(77), all);
  std::vector<QueuedKey> keys;
  std::string page;
  ASSERT_TRUE(queue_->ListPage(700, 50, &page, &keys).ok());
  EXPECT_THAT(KeysOf(keys), ElementsAreArray(all.begin() + 700, all.begin() + 750));
  keys.clear();
  ASSERT_TRUE(queue_->ListPage(0, 50, &page, &keys).ok());
  EXPECT_THAT(KeysOf(keys), ElementsAreArray(all.begin() + 750, all.begin() + 800));
  EXPECT_THAT(KeysOf(queue_->List(2990, 100)), ElementsAreArray(all.begin() + 2990, all.end()));
  EXPECT_THAT(queue_->List(3000, 100), IsEmpty());
}

TEST_P(ListTest, IsTheOrderOfTheHandOuts) {
  if (GetParam().options.shards > 0) {
    GTEST_SKIP() << "a worker has its own shards";
  }
  AddKeys(1000);
  const std::vector<std::string> all = All();
  std::vector<std::string> got;
  for (size_t i = 0; i < all.size(); ++i) {
    got.push_back(Get());
    ASSERT_TRUE(queue_->Done(got.back()).ok());
  }
  EXPECT_EQ(got, all);
}

// What stays is on exactly one page, in the order in which it is queued, whatever goes between two
// pages: the last key of a page, too.
TEST_P(ListTest, KeysThatStayAreListedOnceWhileOthersGo) {
  if (GetParam().options.order == Order::kFair ||
      GetParam().options.group_limits.max_processing > 1) {
    GTEST_SKIP() << "such a page is found by its number";
  }
  AddKeys(2000);
  const std::vector<std::string> all = All();
  const auto stays = [](const std::string& key) { return key.back() >= '5'; };
  std::vector<std::string> rest = all;
  std::erase_if(rest, [&](const std::string& key) { return !stays(key); });
  size_t next = 0;
  std::vector<std::string> paged = Paged(100, [&] {
    for (size_t i = 0; i < 100 && next < all.size(); ++i, ++next) {
      if (!stays(all[next])) {
        EXPECT_TRUE(queue_->Remove(all[next]).ok());
      }
    }
  });
  std::erase_if(paged, [&](const std::string& key) { return !stays(key); });
  EXPECT_EQ(paged, rest);
}

// The same with threads that remove and add keys during one List.
TEST_P(ListTest, KeysThatStayAreListedWhileThreadsChangeOthers) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  AddKeys(4000);
  const auto stays = [](const std::string& key) { return key.back() >= '5'; };
  std::vector<std::string> rest = All();
  std::erase_if(rest, [&](const std::string& key) { return !stays(key); });
  std::sort(rest.begin(), rest.end());
  std::atomic<bool> stop = false;
  std::thread changes([&] {
    std::mt19937_64 random(seed);
    while (!stop) {
      const uint64_t i = random() % 4000;
      const std::string key = "key-" + std::to_string(i);
      if (stays(key)) {
        continue;
      }
      AddOptions add;
      const std::string group = "group " + std::to_string(random() % 40);
      add.group = group;
      const Status s = random() % 2 == 0 ? queue_->Add(key, add) : queue_->Remove(key);
      EXPECT_TRUE(s.ok() || s.code() == StatusCode::kNotFound) << s.ToString();
    }
  });
  for (int run = 0; run < 30; ++run) {
    std::vector<std::string> listed = All();
    std::erase_if(listed, [&](const std::string& key) { return !stays(key); });
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed, rest);
  }
  stop = true;
  changes.join();
}

TEST_P(ListTest, RefusesAPageThatItHasNotMade) {
  AddKeys(10);
  std::vector<QueuedKey> keys;
  std::string page = "short";
  EXPECT_EQ(queue_->ListPage(0, 5, &page, &keys).code(), StatusCode::kInvalidArgument);
  page = std::string(24, '\xff') + "key-1";  // Behind every key.
  EXPECT_TRUE(queue_->ListPage(0, 5, &page, &keys).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Orders, ListTest,
    ::testing::Values(ListCase{"TwoLanes", {.order = Order::kTwoLanes}},
                      ListCase{"Priorities", {.order = Order::kPriorities}},
                      ListCase{"Shards", {.order = Order::kTwoLanes, .shards = 4}},
                      ListCase{"Fair", {.order = Order::kFair, .lanes = {kSlowLane}}},
                      ListCase{
                          "GroupLimits",
                          {.order = Order::kTwoLanes, .group_limits = {.max_processing = 1000}}}),
    [](const auto& info) { return info.param.name; });

class ListingTest : public QueueTest {};

TEST_F(ListingTest, QuarantinedKeysByPage) {
  for (const char* key : {"c", "a", "e", "b", "d"}) {
    ASSERT_TRUE(queue_->Quarantine(key, "why").ok());
  }
  const auto keys = [this](std::string_view after, size_t offset, size_t limit) {
    std::string found;
    for (const QuarantinedKey& key : queue_->Quarantined(after, offset, limit)) {
      found += key.key;
    }
    return found;
  };
  EXPECT_EQ(keys("", 0, 2), "ab");
  EXPECT_EQ(keys("b", 0, 2), "cd");
  EXPECT_EQ(keys("b", 1, 9), "de");
  EXPECT_EQ(keys("bb", 0, 9), "cde");
  EXPECT_EQ(keys("", 4, 9), "e");
  EXPECT_EQ(keys("", 5, 9), "");
  EXPECT_EQ(keys("", 0, 0), "");
  ASSERT_TRUE(queue_->Release("b").ok());
  ASSERT_TRUE(queue_->Drop("a").ok());
  ASSERT_TRUE(queue_->Delete("e").ok());
  EXPECT_EQ(keys("", 0, 9), "cd");
  CloseAndOpen();
  EXPECT_EQ(keys("", 0, 9), "cd");
  EXPECT_EQ(queue_->Counts().quarantined, 2U);
}

TEST_F(ListingTest, ManyQuarantinedKeysAndCursors) {
  std::vector<std::string> names;
  for (int i = 10'000; i < 20'000; ++i) {
    names.push_back(std::to_string(i));
    ASSERT_TRUE(queue_->Quarantine(names.back(), std::string(900, 'e')).ok());
  }
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(queue_->SetCursor(names[i], std::string(i, 'c')).ok());
  }
  std::vector<std::string> keys;
  for (const QuarantinedKey& key : queue_->Quarantined()) {
    keys.push_back(key.key);
  }
  EXPECT_EQ(keys, names);
  EXPECT_THAT(queue_->Quarantined({}, 9995, 100), SizeIs(5));
  const std::map<std::string, std::string> cursors = queue_->Cursors();
  ASSERT_THAT(cursors, SizeIs(1000));
  EXPECT_THAT(cursors.at(names[999]), SizeIs(999));
}

}  // namespace
}  // namespace wq
