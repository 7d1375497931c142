// Sources: which observation adds what, over restarts, failures and lists.

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "storage/record_keys.h"
#include "tests/engine/queue/sources_fixture.h"
#include "tests/support/wait.h"
#include "wq/source.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The table of docs/sources.md.
TEST_F(SourcesTest, WhatAnObservationDoesInEachStateOfTheKey) {
  const std::pair<const char*, std::function<void()>> states[] = {
      {"", [] {}},
      {"a:q", [this] { Add("a"); }},
      {"a:p", [this] { Add("a"), Get(); }},
      {"a:d", [this] { ASSERT_TRUE(queue_->AddAfter("a", hours(1)).ok()); }},
      {"a:df", [this] { ASSERT_TRUE(queue_->AddRateLimited("a", "e").ok()); }},
      {"a:x", [this] { ASSERT_TRUE(queue_->Quarantine("a").ok()); }}};
  const std::string after_change[] = {"a:q", "a:q", "a:p+", "a:qd", "a:qdf", "a:x"};
  for (size_t i = 0; i < std::size(states); ++i) {
    SCOPED_TRACE(states[i].first);
    EXPECT_EQ(Observe("a", "1"), "changed +1");
    Work();
    states[i].second();
    // Outside and inside a list, and if the caller filters it, nothing moves.
    EXPECT_EQ(Observe("a", "1"), "unchanged");
    BeginList();
    EXPECT_EQ(List("a", "1"), "unchanged");
    ASSERT_TRUE(list_->End().ok());
    EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "2", .filtered = true}), "changed");
    EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "2", .filtered = true}), "unchanged");
    EXPECT_EQ(State(), states[i].first);
    if (i > 0) {
      const std::string_view own[] = {"a"};
      const Observation changed{.object = "a", .version = "2+", .keys = own};
      EXPECT_EQ(ObserveBy(&pods_, changed, {.if_absent = true}), "changed =1");
      EXPECT_EQ(State(), states[i].first);
    }
    EXPECT_THAT(Observe("a", "3"), HasSubstr("changed"));
    EXPECT_EQ(State(), after_change[i]);
    static_cast<void>(queue_->Done("a"));
    static_cast<void>(queue_->Delete("a"));
    EXPECT_EQ(ObserveDeleted("a"), "changed +1");
    EXPECT_EQ(State(), "a:q");
    EXPECT_EQ(ObserveDeleted("a"), "unchanged");  // There is no row, and no key.
    Work();
  }
}

TEST_F(SourcesTest, AListAfterARestartAddsOnlyWhatChangedOrWasDeleted) {
  BeginList({.fingerprint = "f"});
  for (const char* object : {"changed", "deleted", "failing", "same"}) {
    EXPECT_EQ(List(object, "1"), "changed +1");
  }
  const ObjectKeys keys = {"left", "owner"};
  ASSERT_TRUE(
      list_->Observe({.object = "child", .version = "1", .keys = keys, .tombstone = "t"}).ok());
  ASSERT_TRUE(list_->End().ok());
  Work();
  ASSERT_TRUE(queue_->AddRateLimited("failing", "e").ok());
  Restart();
  BeginList({.fingerprint = "f"});
  EXPECT_EQ(List("same", "1"), "unchanged");
  EXPECT_EQ(List("failing", "1"), "unchanged");
  EXPECT_EQ(List("new", "1"), "changed +1");
  EXPECT_EQ(List("changed", "2"), "changed +1");
  EXPECT_EQ(List("changed", "2"), "unchanged");  // Named twice.
  EXPECT_EQ(NextDeleted(), "child 1 t left owner");
  EXPECT_EQ(ListDeleted("child", {"mapped"}), "changed +3");
  EXPECT_EQ(ListDeleted("child", {"mapped"}), "unchanged");
  EXPECT_EQ(NextDeleted(), "deleted 1  deleted");
  EXPECT_EQ(NextDeleted(), "NotFound");
  ASSERT_TRUE(list_->End().ok());
  EXPECT_EQ(State(), "changed:q deleted:q failing:df left:q mapped:q new:q owner:q");
  EXPECT_EQ(List("same", "1"), "InvalidArgument");
  EXPECT_FALSE(list_->End().ok());
  EXPECT_EQ(queue_->Sources().at(0).objects, 4U);
  Crash();
  BeginList({.fingerprint = "f"});
  for (const char* object : {"changed", "failing", "new", "same"}) {
    EXPECT_THAT(List(object, *object == 'c' ? "2" : "1"), "unchanged");
  }
  EXPECT_EQ(NextDeleted(), "NotFound");
}

TEST_F(SourcesTest, AListOfAClosedQueueSaysSo) {
  Observe("a", "1");
  BeginList();
  ASSERT_TRUE(store_->CloseQueue(queue_).ok());
  EXPECT_EQ(List("a", "1"), "ShuttingDown");
  EXPECT_EQ(NextDeleted(), "ShuttingDown");
  EXPECT_EQ(list_->End().code(), StatusCode::kShuttingDown);
}

TEST_F(SourcesTest, AnObjectObservedDuringAListIsNotDeleted) {
  Observe("a", "1");
  Observe("b", "1");
  BeginList();
  EXPECT_EQ(NextDeleted(), "a 1  a");
  Observe("a", "2");
  Observe("b", "1");
  Work();
  EXPECT_EQ(ListDeleted("a", {"mapped"}), "unchanged");  // It is there again.
  EXPECT_EQ(NextDeleted(), "NotFound");
  ASSERT_TRUE(list_->End().ok());
  EXPECT_EQ(State(), "");
}

TEST_F(SourcesTest, AListThatIsAbandonedOrSupersededDeletesNothing) {
  Observe("a", "1");
  Work();
  BeginList();
  list_.reset();
  EXPECT_EQ(State(), "");
  BeginList();
  const std::unique_ptr<SourceList> first = std::move(list_);
  BeginList();
  for (const Status& s : {first->Observe({.object = "another"}), first->End()}) {
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr("superseded"));
  }
  EXPECT_EQ(List("a", "1"), "unchanged");
  ASSERT_TRUE(list_->End().ok());
  EXPECT_EQ(State(), "");
}

TEST_F(SourcesTest, AListWhoseSourceWasRemovedSaysSo) {
  Observe("a", "1");
  BeginList();
  ASSERT_TRUE(queue_->RemoveSource("pods").ok());
  const auto expect_over = [this](const char* why) {
    SeenObject deleted;
    for (const Status& s : {list_->Observe({.object = "a"}), list_->NextDeleted(&deleted),
                            list_->ObserveDeleted("a"), list_->End()}) {
      EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(s.message(), HasSubstr(why));
    }
  };
  expect_over("the list's source 'pods' was removed");
  OpenSource();  // One of the same name does not have the list.
  expect_over("has ended");
  EXPECT_EQ(Observe("a", "1"), "changed =1");
}

TEST_F(SourcesTest, ANewOwnerOfAnObjectIsAddedWithTheOldOne) {
  EXPECT_EQ(Observe("child", "1", {"old", "both"}), "changed +2");
  Work();
  Restart();
  EXPECT_EQ(Observe("child", "2", {"both", "new"}), "changed +3");
  Work();
  EXPECT_EQ(Observe("child", "3", {"both", "new"}), "changed +2");
  EXPECT_EQ(Observe("child", "3", {"new", "both", "new"}), "unchanged");  // The same keys.
  // The version alone is not all. But the object is the same: so is its work for the other key.
  EXPECT_EQ(Observe("child", "3", {"both"}), "changed =1");
  Work();
  EXPECT_EQ(Observe("child", "3", {"third", "both"}), "changed +1");
  EXPECT_EQ(Get(), "third");
}

TEST_F(SourcesTest, TheRowOfAnotherVersionIsReturnedBeforeTheChange) {
  SeenObject before;
  const auto observe = [&](std::string_view object, std::string_view version,
                           const ObjectKeys& keys, bool filtered = false) {
    before.object = "what was here";
    const std::string did = ObserveBy(&pods_, {.object = object,
                                               .version = version,
                                               .keys = keys,
                                               .tombstone = version,
                                               .filtered = filtered,
                                               .before = &before});
    std::string text = did + "; " + before.object;
    if (!before.object.empty()) {
      text += " " + before.version + " " + before.tombstone;
      for (const std::string& key : before.keys) {
        text += " " + key;
      }
    }
    return text;
  };
  EXPECT_EQ(observe("secret", "1", {"a", "b"}), "changed +2; ");  // There is no row.
  EXPECT_EQ(observe("secret", "1", {"b", "a"}), "unchanged; ");
  EXPECT_EQ(observe("secret", "1", {"b", "c"}), "changed +1 =1; ");
  Work();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(observe("secret", "2", {"b"}), "unchanged; secret 1 1 b c");
    EXPECT_EQ(State(), "");
    Crash();
  }
  EXPECT_EQ(observe("secret", "2", {"b"}, /*filtered=*/true), "unchanged; secret 1 1 b c");
  // Until it is observed again, what is filtered does not hide the change.
  EXPECT_EQ(ObserveBy(&pods_, {.object = "secret", .version = "2", .filtered = true}), "changed");
  BeginList();
  EXPECT_EQ(observe("secret", "2", {"b"}), "unchanged; secret  1 b c");
  EXPECT_EQ(Observe("secret", "2", {"b"}), "changed +2");
  Work();
  BeginList({.fingerprint = "another"});
  EXPECT_EQ(observe("secret", "2", {"b"}), "changed +1; ");  // Its version is the same.
  for (int i = 0; i < 2; ++i) {  // Without a version, what is kept of it tells whether it is.
    EXPECT_EQ(ObserveBy(&pods_, {.object = "none", .tombstone = "t"}), "changed");
    const std::string kept = i == 0 ? "t" : "u";
    before.object = "what was here";
    EXPECT_EQ(ObserveBy(&pods_, {.object = "none", .tombstone = kept, .before = &before}),
              i == 0 ? "changed" : "unchanged");
    EXPECT_EQ(before.object, i == 0 ? "" : "none");
  }
}

// Adds wait behind an observation, which then returns a row instead.
TEST_F(SourcesTest, AnObservationThatReturnsARowLeavesItsPlaceToOthers) {
  Restart({.max_pending = 1});
  ASSERT_TRUE(queue_->Add("first").ok());
  const auto waits = [this](uint64_t calls) {
    return support::Eventually([this, calls] { return queue_->Counts().full == calls; });
  };
  SeenObject before;
  const std::string_view keys[] = {"k"};
  std::thread observer([&] {
    EXPECT_TRUE(
        pods_.Observe({.object = "a", .version = "2", .keys = keys, .before = &before}).ok());
  });
  EXPECT_TRUE(waits(1));
  std::thread adder([&] { EXPECT_TRUE(queue_->Add("behind").ok()); });
  EXPECT_TRUE(waits(2));
  EXPECT_TRUE(pods_.Observe({.object = "a", .version = "1", .filtered = true}).ok());
  Work(1);
  observer.join();
  EXPECT_EQ(before.object, "a");
  adder.join();
  EXPECT_EQ(Get(), "behind");
}

TEST_F(SourcesTest, AKeyThatAStaleListKeepsIsAddedAgainForTheChangeThatWasRefused) {
  Restart({.max_pending = 1, .when_full = WhenFull::kRefuse});
  Observe("o", "1", {"a"});
  Work();
  ASSERT_TRUE(queue_->Add("another").ok());
  EXPECT_EQ(Observe("o", "2", {"a"}), "Full");
  Work();
  EXPECT_EQ(Observe("o", "1", {"a", "b"}), "changed +2");
}

TEST_F(SourcesTest, AnObjectWhoseObservationIsRefusedIsNotDeleted) {
  Restart({.max_pending = 1, .when_full = WhenFull::kRefuse});
  Observe("a", "1");
  Work();
  Add("x");
  const std::string_view bad[] = {""};
  const std::string large(kMaxTombstoneBytes + 1, 't');
  for (const Observation& refused :
       {Observation{.object = "a", .keys = bad}, Observation{.object = "a", .tombstone = large}}) {
    BeginList();
    EXPECT_EQ(ObserveBy(list_.get(), refused), "InvalidArgument");
    EXPECT_EQ(NextDeleted(), "NotFound");
  }
  BeginList();
  EXPECT_EQ(List("a", "2"), "Full");
  EXPECT_EQ(NextDeleted(), "NotFound");
  ASSERT_TRUE(list_->End().ok());
  EXPECT_EQ(State(), "x:q");
}

// The bounds of a row are those of the time at which it was written.
TEST_F(SourcesTest, AListEndsUnderLoweredBounds) {
  EXPECT_EQ(Observe("o", "1", {"long key", "b", "c"}), "changed +3");
  Work();
  Restart({.max_pending = 2, .when_full = WhenFull::kRefuse, .max_key_bytes = 4});
  Add("a");
  BeginList();
  EXPECT_EQ(list_->End().code(), StatusCode::kFull);
  Work();
  ASSERT_TRUE(list_->End().ok());
  EXPECT_EQ(State(), "b:q c:q long key:q");
}

// Of a call that needs several places, and one that needs one: neither overtakes the other.
TEST_F(SourcesTest, CallsGetRoomInTheirOrder) {
  Restart({.max_pending = 3, .when_full = WhenFull::kWait});
  for (const char* key : {"1", "2", "3"}) {
    Add(key);
  }
  const auto wait_for = [this](uint64_t calls) {
    return support::Eventually([this, calls] { return queue_->Counts().full == calls; });
  };
  std::thread observes([this] { EXPECT_EQ(Observe("o", "1", {"a", "b"}), "changed +2"); });
  EXPECT_TRUE(wait_for(1));
  std::thread adds([this] { Add("c"); });
  EXPECT_TRUE(wait_for(2));
  Work(1);
  EXPECT_EQ(State(), "2:q 3:q");  // There is room for the second.
  EXPECT_EQ(queue_->Add("z", {.wait_for_room = std::chrono::seconds(0)}).code(), StatusCode::kFull);
  Work(1);
  observes.join();
  EXPECT_EQ(State(), "3:q a:q b:q");
  Work(1);
  adds.join();
  // One that is refused in the end lets the next one in.
  std::thread refused([this] { EXPECT_EQ(Observe("n", "1", {"x", "y"}), "NotFound"); });
  EXPECT_TRUE(wait_for(4));
  std::thread behind([this] { Add("d"); });
  EXPECT_TRUE(wait_for(5));
  ASSERT_TRUE(queue_->RemoveSource("pods").ok());
  Work(3);
  refused.join();
  behind.join();
  Add("d2");
  Add("d3");
  OpenSource();
  // And so does one that gives up.
  std::thread gives_up([this] {
    const ObjectKeys keys = {"e", "f"};
    EXPECT_EQ(ObserveBy(&pods_, {.object = "p", .keys = keys},
                        {.wait_for_room = std::chrono::milliseconds(100)}),
              "Full");
  });
  EXPECT_TRUE(wait_for(6));
  std::thread next([this] { Add("g"); });
  Work(1);
  gives_up.join();
  next.join();
  EXPECT_EQ(State(), "d2:q d3:q g:q");
}

TEST_F(SourcesTest, ANewFingerprintMakesEachRowCountAsChangedOnce) {
  Observe("a", "1");
  Observe("b", "1");
  Work();
  BeginList({.fingerprint = std::string(1 << 20, 'f')});
  EXPECT_EQ(List("a", "1"), "changed +1");
  Crash();  // In the midst: b has not been listed.
  BeginList({.fingerprint = std::string(1 << 20, 'f')});
  EXPECT_EQ(List("a", "1"), "unchanged");
  EXPECT_EQ(List("b", "1"), "changed +1");
  EXPECT_EQ(List("b", "1"), "unchanged");
}

// Nor is it owed: the object may be there, and is unchanged.
TEST_F(SourcesTest, ARefusedDeletionOfAListMovesNoObjectThatIsThere) {
  Observe("a", "1");
  Work();
  BeginList();
  EXPECT_EQ(List("a", "1"), "unchanged");
  EXPECT_EQ(ListDeleted("a", {""}), "InvalidArgument");
  EXPECT_EQ(List("a", "1"), "unchanged");
}

TEST_F(SourcesTest, AnObjectHasManyKeysEachOnce) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kMaxObjectKeys + 1; ++i) {
    names.push_back(std::to_string(i));
  }
  ObjectKeys keys(names.begin(), names.end() - 1);
  keys.back() = keys.front();
  EXPECT_EQ(Observe("a", "1", keys), "changed +" + std::to_string(kMaxObjectKeys - 1));
  std::vector<std::string> grouped;
  QueueOptions options;
  options.group_of = [&grouped](std::string_view key) { return grouped.emplace_back(key); };
  Restart(options);
  EXPECT_EQ(Observe("a", "2", {names.begin(), names.end()}), "InvalidArgument");
  EXPECT_THAT(grouped, IsEmpty());  // A refused one is not prepared.
}

TEST_F(SourcesTest, RowsOfAnotherScopeAreDroppedInSilence) {
  BeginList({.scope = "all"});
  List("a", "1");
  List("b", "1");
  ASSERT_TRUE(list_->End().ok());
  Work();
  BeginList({.scope = "web"});
  EXPECT_EQ(List("a", "1"), "changed +1");
  EXPECT_EQ(NextDeleted(), "NotFound");
  ASSERT_TRUE(list_->End().ok());
  EXPECT_EQ(State(), "a:q");
  EXPECT_EQ(queue_->Sources().at(0).objects, 1U);
}

TEST_F(SourcesTest, AnEmptyVersionAlwaysCountsAsChanged) {
  EXPECT_EQ(Observe("a", ""), "changed +1");
  EXPECT_EQ(Observe("a", ""), "changed =1");
}

TEST_F(SourcesTest, WhatIsRefusedChangesNothing) {
  const std::string long_key(kMaxKeyBytes, 'k');
  const ObjectKeys many(kMaxObjectKeys + 1, "k");
  const ObjectKeys large = {long_key, "k"};
  const ObjectKeys bad = {"good", ""};
  const std::string bytes(kMaxTombstoneBytes + 1, 'x');
  const std::string_view too_long(bytes);
  const Observation refused[] = {
      {.object = ""},
      {.object = too_long.substr(0, kMaxObjectBytes + 1)},
      {.object = "a", .version = too_long.substr(0, kMaxVersionBytes + 1)},
      {.object = "a", .tombstone = too_long},
      {.object = "a", .keys = many},
      {.object = "a", .keys = large},
      {.object = "a", .keys = bad}};
  for (const Observation& observation : refused) {
    EXPECT_EQ(ObserveBy(&pods_, observation), "InvalidArgument");
  }
  EXPECT_EQ(queue_->OpenSource("a b", &pods_).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(State(), "");
  EXPECT_EQ(queue_->Sources().at(0).objects, 0U);
}

TEST_F(SourcesTest, AFullQueueTakesAllKeysOrNone) {
  Restart({.max_pending = 2, .when_full = WhenFull::kRefuse});
  Add("a");
  EXPECT_EQ(Observe("o", "1", {"b", "c"}), "Full");
  EXPECT_EQ(State(), "a:q");
  EXPECT_EQ(Observe("o", "1", {"a", "b"}), "changed +1 =1");
  Work();
  Restart({.max_pending = 2, .when_full = WhenFull::kWait});
  Add("a");
  // More keys than the bound are taken once nothing is pending.
  std::thread waits([this] { EXPECT_EQ(Observe("p", "1", {"b", "c", "d", "d"}), "changed +3"); });
  EXPECT_TRUE(support::Eventually([this] { return queue_->Counts().full == 1; }));
  Work(1);
  waits.join();
  EXPECT_EQ(State(), "b:q c:q d:q");
}

TEST_F(SourcesTest, ARemovedSourceIsForgottenAlsoByAKilledRemoval) {
  for (int i = 0; i < 2500; ++i) {
    Observe(std::to_string(i), "1");
  }
  ASSERT_TRUE(queue_->RemoveSource("pods").ok());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kSources), 0U);
  EXPECT_EQ(Observe("0", "1"), "NotFound");
  EXPECT_EQ(queue_->RemoveSource("pods").code(), StatusCode::kNotFound);
  OpenSource();
  EXPECT_EQ(Observe("0", "1"), "changed =1");
  ASSERT_TRUE(queue_->Flush().ok());
  FailWrites(1);  // Only the source's own record is written.
  EXPECT_FALSE(queue_->RemoveSource("pods").ok());
  DiskIsBack();
  store_.reset();
  Open();
  EXPECT_TRUE(queue_->Sources().empty());
  EXPECT_EQ(RecordsOnDisk(storage::Family::kSources), 0U);
}

TEST(SourcesInMemory, ASourceNeedsAStoreOnDisk) {
  const QueueInMemory queue;
  Source source;
  EXPECT_EQ(queue->OpenSource("s", &source).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wq
