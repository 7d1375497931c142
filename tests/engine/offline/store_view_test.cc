#include "wq/store_view.h"

#include <unistd.h>

#include <filesystem>
#include <map>

#include "tests/engine/offline/store_view_fixture.h"

namespace wq {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(StoreViewTest, AMissingStoreIsNotFoundAndNotMade) {
  const std::string missing = root_ / "nothing";
  EXPECT_EQ(StoreView::Open(missing, &view_).code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(missing));
  EXPECT_EQ(view_, nullptr);
}

TEST_F(StoreViewTest, ShowsTheStoreAndItsOwner) {
  View();
  EXPECT_EQ(view_->info().dir, dir_);
  EXPECT_EQ(view_->info().format_version, storage::kFormatVersion);
  EXPECT_EQ(view_->info().uuid.size(), 36U);
  EXPECT_EQ(view_->info().created_at_us, 1'000);
  EXPECT_EQ(view_->info().owner_pid, getpid());
  EXPECT_TRUE(view_->info().owner_alive);
  EXPECT_EQ(view_->info().process_log_bytes, 0U);

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

TEST_F(StoreViewTest, FindHasAllThatIsKnownOfAKey) {
  Pending("a", 1);
  Pending("b", 2);
  Delayed("b", 300);
  Delayed("c", 200);
  Failing("c", 2);
  Failing("d", 3);
  Quarantined("e", 4, 700);
  Quarantined("a", 4, 800);  // While a worker held it.
  View();
  EXPECT_THAT(Found("a"), ElementsAre("pending a 0 #1", "quarantined a 0 @800 x4 (worst)"));
  EXPECT_THAT(Found("b"), ElementsAre("pending b 0 #2", "delayed b 0 @300+50"));
  EXPECT_THAT(Found("d\x1b").front(), testing::HasSubstr(R"(d\x1b)"));
  EXPECT_THAT(Found("c"), ElementsAre("delayed c 0 @200+50 x2 (why)"));
  EXPECT_THAT(Found("d"), ElementsAre("failing d x3 (why)"));
  EXPECT_THAT(Found("e"), ElementsAre("quarantined e 0 @700 x4 (worst)"));
  std::vector<Entry> entries;
  EXPECT_EQ(view_->Find("none", "a", &entries).code(), StatusCode::kNotFound);
}

// More keys than are in memory at a time: the walk takes several scans.
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

TEST_F(StoreViewTest, SeesTheInstantOfOpening) {
  Pending("a", 1);
  View();
  Pending("b", 2);
  ASSERT_TRUE(owner_->Write(batch_, false).ok());
  EXPECT_THAT(Entries(), ElementsAre("pending a 0 #1"));
  ASSERT_TRUE(StoreView::Open(dir_, &view_).ok());
  EXPECT_THAT(Entries(), ElementsAre("pending a 0 #1", "pending b 0 #2"));
}

}  // namespace
}  // namespace wq
