// StoreView over stores whose records are written directly, so that every shape can be made: also
// those that a queue leaves behind only when it is killed at the right moment.
#include "wq/store_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/records.h"
#include "storage/rocksdb_storage.h"

namespace wq {
namespace {

using storage::QueueId;

constexpr QueueId kPods = 7;

// "pending a fast 3", "delayed b slow @200+50", "failing c"; with failures " x2 (why)" behind it.
std::string Render(const Entry& entry) {
  std::string text;
  switch (entry.state) {
    case EntryState::kPending:
      text = "pending " + entry.key + " " + std::to_string(entry.lane) + " #" +
             std::to_string(entry.sequence);
      break;
    case EntryState::kDelayed:
      text = "delayed " + entry.key + " " + std::to_string(entry.lane) + " @" +
             std::to_string(entry.ready_at_us) + "+" + std::to_string(entry.delay_us);
      break;
    case EntryState::kFailing:
      text = "failing " + entry.key;
      break;
  }
  if (entry.failures) {
    text += " x" + std::to_string(entry.failures->count) + " (" + entry.failures->last_error + ")";
  }
  return text;
}

class StoreViewTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "wq_view_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    dir_ = root_ + "/store";
    ASSERT_TRUE(OpenOwner(true).ok());
    QueueExists("pods", kPods);
  }

  void TearDown() override {
    view_.reset();
    owner_.reset();
    std::filesystem::remove_all(root_);
  }

  Status OpenOwner(bool create) {
    storage::RocksdbOptions options;
    options.create_if_missing = create;
    options.now_us = 1'000;
    return storage::OpenRocksdb(dir_, options, &owner_);
  }

  void QueueExists(const std::string& name, QueueId id) {
    storage::PutQueue({.name = name, .id = id, .created_at_us = 1'000}, &batch_);
  }
  void Pending(std::string_view key, uint64_t sequence, Lane lane = kFastLane,
               int64_t added_at_us = 5'000, QueueId queue = kPods) {
    storage::PutPending(
        queue, {.key = key, .lane = lane, .sequence = sequence, .added_at_us = added_at_us},
        &batch_);
  }
  void Delayed(std::string_view key, int64_t ready_at_us, Lane lane = kFastLane) {
    storage::PutDelayed(kPods,
                        {.key = key,
                         .ready_at_us = ready_at_us,
                         .delay_us = 50,
                         .added_at_us = ready_at_us - 50,
                         .lane = lane},
                        &batch_);
  }
  void Failing(std::string_view key, uint64_t count, std::string_view error = "why") {
    storage::PutFailures(
        kPods,
        {.key = key, .count = count, .first_at_us = 10, .last_at_us = 20, .last_error = error},
        &batch_);
  }

  // Writes what was said so far and opens a view of it, beside the owner.
  void View() {
    ASSERT_TRUE(owner_->Write(batch_, false).ok());
    batch_.Clear();
    const Status s = StoreView::Open(dir_, &view_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  std::vector<std::string> Entries(std::string_view queue = "pods") {
    std::vector<std::string> entries;
    const Status s = view_->ForEachEntry(queue, [&](const Entry& entry) {
      entries.push_back(Render(entry));
      return true;
    });
    if (!s.ok()) entries.push_back(s.ToString());
    return entries;
  }

  std::vector<std::string> Found(std::string_view key) {
    std::vector<Entry> entries;
    const Status s = view_->Find("pods", key, &entries);
    std::vector<std::string> rendered;
    for (const Entry& entry : entries) rendered.push_back(Render(entry));
    if (!s.ok()) rendered.push_back(s.ToString());
    return rendered;
  }

  QueueSummary Summary(const SummaryOptions& options = {}) {
    QueueSummary summary;
    const Status s = view_->Summarize("pods", options, &summary);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return summary;
  }

  // Every file's bytes.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(dir_)) {
      if (!file.is_regular_file()) continue;
      std::ifstream in(file.path(), std::ios::binary);
      files[file.path()] = std::string(std::istreambuf_iterator<char>(in), {});
    }
    return files;
  }

  std::string root_;
  std::string dir_;
  storage::MutationBatch batch_;
  std::unique_ptr<storage::Storage> owner_;
  std::unique_ptr<StoreView> view_;
};

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

TEST_F(StoreViewTest, AMissingStoreIsNotFoundAndNotMade) {
  const std::string missing = root_ + "/nothing";
  EXPECT_EQ(StoreView::Open(missing, &view_).code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(missing));
  EXPECT_EQ(view_, nullptr);
}

TEST_F(StoreViewTest, TellsAboutTheStoreAndItsOwner) {
  View();
  EXPECT_EQ(view_->info().dir, dir_);
  EXPECT_EQ(view_->info().format_version, storage::kFormatVersion);
  EXPECT_EQ(view_->info().uuid.size(), 36U);
  EXPECT_EQ(view_->info().created_at_us, 1'000);
  EXPECT_EQ(view_->info().owner_pid, getpid());
  EXPECT_TRUE(view_->info().owner_alive);

  ASSERT_TRUE(owner_->Close().ok());
  owner_.reset();
  ASSERT_TRUE(StoreView::Open(dir_, &view_).ok());
  EXPECT_EQ(view_->info().owner_pid, getpid());
  EXPECT_FALSE(view_->info().owner_alive);
}

TEST_F(StoreViewTest, QueuesAreSortedAndApart) {
  QueueExists("beta", 300);
  QueueExists("alpha", 9);
  Pending("a", 1);
  Pending("b", 1, kFastLane, 5'000, 300);
  View();
  EXPECT_THAT(view_->QueueNames(), ElementsAre("alpha", "beta", "pods"));
  EXPECT_THAT(Entries("alpha"), IsEmpty());
  EXPECT_THAT(Entries("beta"), ElementsAre("pending b 0 #1"));
  EXPECT_THAT(Entries("pods"), ElementsAre("pending a 0 #1"));
}

TEST_F(StoreViewTest, AMissingQueueIsNotFound) {
  View();
  QueueSummary summary;
  std::vector<Entry> entries;
  EXPECT_EQ(view_->Summarize("nope", {}, &summary).code(), StatusCode::kNotFound);
  EXPECT_EQ(view_->Find("nope", "a", &entries).code(), StatusCode::kNotFound);
  EXPECT_THAT(Entries("no\npe"), ElementsAre(R"(NotFound: no queue "no\npe")"));
}

TEST_F(StoreViewTest, EntriesComeInHandOutOrder) {
  Pending("slow1", 1, kSlowLane);
  Pending("z", 2);
  Pending("a", 3);
  Pending("high", 9, 5);
  Delayed("late", 300);
  Delayed("early", 200, kSlowLane);
  Failing("z", 1);
  Failing("early", 2);
  Failing("only", 3, "gone");
  View();
  EXPECT_THAT(Entries(),
              ElementsAre("pending high 5 #9", "pending z 0 #2 x1 (why)", "pending a 0 #3",
                          "pending slow1 -100 #1", "delayed early -100 @200+50 x2 (why)",
                          "delayed late 0 @300+50", "failing only x3 (gone)"));
}

TEST_F(StoreViewTest, AKeyBothPendingAndDelayedHasTwoEntries) {
  Pending("a", 4);
  Delayed("a", 100);
  Failing("a", 1);
  View();
  const auto both = ElementsAre("pending a 0 #4 x1 (why)", "delayed a 0 @100+50 x1 (why)");
  EXPECT_THAT(Entries(), both);
  EXPECT_THAT(Found("a"), both);
}

TEST_F(StoreViewTest, AVisitorStopsTheWalkAnywhere) {
  Pending("p", 1);
  Delayed("d", 100);
  Failing("f", 1);
  View();
  for (size_t limit = 1; limit <= 3; ++limit) {
    size_t visited = 0;
    EXPECT_TRUE(view_->ForEachEntry("pods", [&](const Entry&) { return ++visited < limit; }).ok());
    EXPECT_EQ(visited, limit);
  }
}

TEST_F(StoreViewTest, FindTellsAllThatIsKnown) {
  Pending("a", 1, kSlowLane);
  Delayed("b", 100);
  Failing("c", 2);
  View();
  EXPECT_THAT(Found("a"), ElementsAre("pending a -100 #1"));
  EXPECT_THAT(Found("b"), ElementsAre("delayed b 0 @100+50"));
  EXPECT_THAT(Found("c"), ElementsAre("failing c x2 (why)"));
  EXPECT_THAT(Found("d\x1b"), ElementsAre(StartsWith("NotFound: ")));
  EXPECT_THAT(Found("d\x1b").front(), testing::HasSubstr(R"(d\x1b)"));
  EXPECT_THAT(Found(""), ElementsAre(StartsWith("NotFound: ")));
}

TEST_F(StoreViewTest, KeysAreBytes) {
  const std::string key("\0\xFF\n\"", 4);
  Pending(key, 1);
  Failing(key, 1, "\xFF");
  View();
  EXPECT_THAT(Found(key), ElementsAre("pending " + key + " 0 #1 x1 (\xFF)"));
  EXPECT_EQ(Entries(), Found(key));
}

TEST_F(StoreViewTest, SummaryCountsAndFindsTheOldest) {
  Pending("a", 1, kFastLane, 9'000);
  Pending("b", 2, kFastLane, 3'000);  // Moved between lanes: not the first, but the oldest.
  Pending("c", 3, kSlowLane, 4'000);
  Delayed("d", 700);
  Delayed("e", 600);
  View();
  const QueueSummary summary = Summary();
  EXPECT_EQ(summary.name, "pods");
  EXPECT_EQ(summary.pending, 3U);
  EXPECT_EQ(summary.delayed, 2U);
  EXPECT_EQ(summary.failing, 0U);
  EXPECT_THAT(summary.lanes,
              ElementsAre(testing::Pair(kFastLane, 2U), testing::Pair(kSlowLane, 1U)));
  EXPECT_EQ(summary.oldest_added_at_us, 3'000);
  EXPECT_EQ(summary.next_ready_at_us, 600);
  EXPECT_THAT(summary.top_failing, IsEmpty());
}

TEST_F(StoreViewTest, SummaryOfAnEmptyQueue) {
  View();
  const QueueSummary summary = Summary();
  EXPECT_EQ(summary.pending + summary.delayed + summary.failing, 0U);
  EXPECT_THAT(summary.lanes, IsEmpty());
  EXPECT_EQ(summary.oldest_added_at_us, std::nullopt);
  EXPECT_EQ(summary.next_ready_at_us, std::nullopt);
}

TEST_F(StoreViewTest, TopFailingAreTheHighestCountsThenTheSmallestKeys) {
  for (int i = 0; i < 50; ++i) Failing("k" + std::to_string(100 + i), 3 + (i * 7) % 5);
  Failing("champion", 99, "no route");
  View();
  const QueueSummary summary = Summary({.top_failing = 4});
  EXPECT_EQ(summary.failing, 51U);
  std::vector<std::string> top;
  for (const FailingKey& key : summary.top_failing) {
    top.push_back(key.key + "=" + std::to_string(key.failures.count));
  }
  // 3 + (i * 7) % 5 is 7 first for i = 2, 7 and 12.
  EXPECT_THAT(top, ElementsAre("champion=99", "k102=7", "k107=7", "k112=7"));
  EXPECT_EQ(summary.top_failing.front().failures.last_error, "no route");
  EXPECT_EQ(summary.top_failing.front().failures.first_at_us, 10);
  EXPECT_EQ(summary.top_failing.front().failures.last_at_us, 20);
  EXPECT_THAT(Summary({.top_failing = 0}).top_failing, IsEmpty());
}

// More keys than are crossed off at a time, so that the walk takes several passes.
TEST_F(StoreViewTest, ManyFailingOnlyKeysAreEachVisitedOnceInOrder) {
  const std::string padding(2'000, 'x');
  constexpr int kKeys = 12'000;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(100'000 + i) + padding;
    Failing(key, 1, "");
    if (i % 3 == 0) Pending(key, static_cast<uint64_t>(i) + 1);
    if (i % 5 == 0) Delayed(key, 1'000 + i);
  }
  View();
  int pending = 0;
  int delayed = 0;
  std::vector<std::string> failing;
  const Status s = view_->ForEachEntry("pods", [&](const Entry& entry) {
    EXPECT_TRUE(entry.failures.has_value());
    if (entry.state == EntryState::kPending) ++pending;
    if (entry.state == EntryState::kDelayed) ++delayed;
    if (entry.state == EntryState::kFailing) failing.push_back(entry.key.substr(0, 6));
    return true;
  });
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(pending, kKeys / 3);
  EXPECT_EQ(delayed, kKeys / 5);
  std::vector<std::string> expected;
  for (int i = 0; i < kKeys; ++i) {
    if (i % 3 != 0 && i % 5 != 0) expected.push_back(std::to_string(100'000 + i));
  }
  EXPECT_EQ(failing, expected);
}

TEST_F(StoreViewTest, SeesTheMomentOfOpening) {
  Pending("a", 1);
  View();
  Pending("b", 2);
  ASSERT_TRUE(owner_->Write(batch_, false).ok());
  EXPECT_THAT(Entries(), ElementsAre("pending a 0 #1"));
  ASSERT_TRUE(StoreView::Open(dir_, &view_).ok());
  EXPECT_THAT(Entries(), ElementsAre("pending a 0 #1", "pending b 0 #2"));
}

TEST_F(StoreViewTest, ChangesNotOneByteBesideAnOwner) {
  Pending("a", 1);
  Delayed("b", 100);
  Failing("a", 1);
  ASSERT_TRUE(owner_->Write(batch_, true).ok());
  batch_.Clear();
  const auto before = Files();
  ASSERT_TRUE(StoreView::Open(dir_, &view_).ok());
  Entries();
  Found("a");
  Summary();
  view_.reset();
  EXPECT_EQ(Files(), before);
}

TEST_F(StoreViewTest, ChangesNotOneByteOfAClosedStore) {
  Pending("a", 1);
  ASSERT_TRUE(owner_->Write(batch_, true).ok());
  ASSERT_TRUE(owner_->Close().ok());
  owner_.reset();
  const auto before = Files();
  ASSERT_TRUE(StoreView::Open(dir_, &view_).ok());
  EXPECT_THAT(Entries(), ElementsAre("pending a 0 #1"));
  view_.reset();
  EXPECT_EQ(Files(), before);
}

}  // namespace
}  // namespace wq
