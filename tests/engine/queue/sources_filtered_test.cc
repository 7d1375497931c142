// Filtered observations: what a source records of them, and that no change before them is lost.

#include <string_view>
#include <thread>

#include <gmock/gmock.h>

#include "tests/engine/queue/sources_fixture.h"
#include "tests/support/wait.h"
#include "wq/source.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;

TEST_F(SourcesTest, ARefusedDeletionIsNotHiddenByWhatIsFilteredLater) {
  Restart({.max_pending = 1, .when_full = WhenFull::kRefuse});
  Observe("a", "1");
  Work();
  ASSERT_TRUE(queue_->Add("another").ok());
  EXPECT_EQ(ObserveDeleted("a"), "Full");
  Work();
  // It was made again, and that was not observed.
  EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "2", .filtered = true}), "changed");
  BeginList();
  EXPECT_EQ(List("a", "2"), "changed +1");
}

TEST_F(SourcesTest, AFilteredObservationKeepsTheKeysOfTheRow) {
  const ObjectKeys keys = {"k"};
  ASSERT_TRUE(pods_.Observe({.object = "a", .version = "1", .keys = keys, .tombstone = "t"}).ok());
  EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "2", .filtered = true}), "changed");
  EXPECT_EQ(ObserveBy(&pods_, {.object = "b", .version = "1", .filtered = true}), "changed");
  const ObjectKeys other = {"l"};
  EXPECT_EQ(ObserveBy(&pods_, {.object = "c", .version = "1", .keys = other, .filtered = true}),
            "changed");
  Work();
  Crash();
  EXPECT_THAT(Rows(), ElementsAre("a 2 t k", "b  ", "c   l", "NotFound"));
}

// A read writes first what is open to the database.
TEST_F(SourcesTest, AFilteredObservationOfAnObjectThatIsItsKeyReadsNoRow) {
  Observe("own", "1", {"own"});
  Observe("none", "1", {});
  Observe("other", "1", {"k"});
  Work();
  const auto writes = [this](std::string_view object, std::string_view tombstone) {
    EXPECT_TRUE(queue_->AddAfter("open", hours(1), {.durability = Durability::kAsync}).ok());
    uint64_t before = 0;
    OnDisk([&](auto& disk) { before = disk.writes; });
    EXPECT_EQ(
        ObserveBy(&pods_,
                  {.object = object, .version = "2", .tombstone = tombstone, .filtered = true},
                  {.durability = Durability::kAsync}),
        "changed");
    uint64_t after = 0;
    OnDisk([&](auto& disk) { after = disk.writes; });
    return after - before;
  };
  EXPECT_EQ(writes("own", "t"), 0U);
  EXPECT_EQ(writes("none", "t"), 0U);
  EXPECT_GT(writes("other", "t"), 0U);
  BeginList();
  EXPECT_EQ(NextDeleted(), "none 2 t");
  EXPECT_EQ(NextDeleted(), "other 2 t k");
  EXPECT_EQ(NextDeleted(), "own 2 t own");
}

// Its version alone does not say that it was reconciled.
TEST_F(SourcesTest, AFilteredObservationDoesNotPassForOneThatWasAdded) {
  const ObjectKeys keys = {"a"};
  const Observation filtered{.object = "a", .version = "2", .keys = keys, .filtered = true};
  const std::function<void()> before[] = {
      [] {},                                               // The object is new,
      [this] { BeginList({.fingerprint = "new code"}); },  // or is to be seen by new code,
      [this] { BeginList({.scope = "new"}); }};
  for (const auto& begin : before) {
    begin();
    EXPECT_EQ(ObserveBy(&pods_, filtered), "changed");
    EXPECT_EQ(ObserveBy(&pods_, filtered), "unchanged");  // Nothing is written.
    EXPECT_EQ(Observe("a", "2"), "changed +1");
    Work();
    EXPECT_EQ(ObserveBy(&pods_, filtered), "unchanged");
    EXPECT_EQ(Observe("a", "2"), "unchanged");
  }
}

// As a controller observes, at each list, an object that its predicates drop.
TEST_F(SourcesTest, AFilteredObservationThatSaysNothingNewIsUnchanged) {
  const ObjectKeys keys = {"k"};
  const auto filtered = [&](std::string_view tombstone, std::span<const std::string_view> with) {
    return ObserveBy(
        &pods_,
        {.object = "a", .version = "1", .keys = with, .tombstone = tombstone, .filtered = true});
  };
  for (const ObjectKeys& with : {ObjectKeys(), ObjectKeys({"k"}), ObjectKeys({"a"})}) {
    EXPECT_EQ(filtered("t", with), "changed");
    Crash();
    EXPECT_EQ(filtered("t", with), "unchanged");
    EXPECT_EQ(filtered("", with), "unchanged");
    EXPECT_EQ(filtered("t", {}), "unchanged");  // The row keeps its keys and its tombstone.
    EXPECT_EQ(filtered("u", with), "changed");
  }
  BeginList();
  EXPECT_EQ(NextDeleted(), "a  u a k");
}

// A change that was refused, before a filtered observation of the same object.
TEST_F(SourcesTest, AFilteredObservationDoesNotHideOneThatWasNotMade) {
  const auto filtered = [&](std::string_view version) {
    return ObserveBy(&pods_,
                     {.object = "a", .version = version, .tombstone = "t", .filtered = true});
  };
  Restart({.max_pending = 1, .when_full = WhenFull::kRefuse});
  for (const ObjectKeys& keys : {ObjectKeys{"a"}, ObjectKeys{"a", "x"}}) {
    SCOPED_TRACE(keys.size());
    Work();
    Observe("a", "1");
    Work();
    EXPECT_EQ(filtered("2"), "changed");
    EXPECT_EQ(filtered("2"), "unchanged");
    Add("other");
    EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "3", .keys = keys}), "Full");
    EXPECT_EQ(filtered("4"), "changed");
    Work();
    EXPECT_EQ(Observe("a", "4"), "changed +1");
  }
}

TEST_F(SourcesTest, AFilteredObservationDoesNotPassForWhatCameBefore) {
  const auto filtered = [&](std::string_view version, const ObjectKeys& keys = {}) {
    return ObserveBy(&pods_, {.object = "a", .version = version, .keys = keys, .filtered = true});
  };
  Restart({.max_pending = 1, .when_full = WhenFull::kRefuse});
  Observe("a", "1");
  Work();
  // One that was refused after it.
  EXPECT_EQ(filtered("3"), "changed");
  Add("other");
  EXPECT_EQ(Observe("a", "2"), "Full");
  Work();
  EXPECT_EQ(Observe("a", "3"), "changed +1");
  Work();
  // One that was refused before a crash.
  Add("other");
  EXPECT_EQ(Observe("a", "4"), "Full");
  Crash();
  Work();
  BeginList();
  EXPECT_EQ(filtered("5"), "changed");
  EXPECT_EQ(List("a", "5"), "changed +1");
  Work();
  BeginList();
  EXPECT_EQ(filtered("5"), "unchanged");  // Nothing is between it and the row.
  EXPECT_EQ(List("a", "5"), "unchanged");
  // The old owner has to notice the change that was refused.
  Add("other");
  EXPECT_EQ(Observe("a", "6", {"new"}), "Full");
  EXPECT_EQ(filtered("7", {"new"}), "changed");
  Restart({});
  Work();
  BeginList();
  const std::string_view owner = "new";
  EXPECT_EQ(ObserveBy(list_.get(), {.object = "a", .version = "7", .keys = {&owner, 1}}),
            "changed +2");
  EXPECT_EQ(State(), "a:q new:q");
}

TEST_F(SourcesTest, AFilteredObservationDoesNotPassForOneThatWaits) {
  for (const char* end : {"killed", "late"}) {
    SCOPED_TRACE(end);
    Restart({.max_pending = 1, .when_full = WhenFull::kWait});
    Observe("a", "1");
    Work();
    Add("other");
    std::thread waits([this] { EXPECT_EQ(Observe("a", "2"), "ShuttingDown"); });
    EXPECT_TRUE(support::Eventually([this] { return queue_->Counts().full == 1; }));
    EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "3", .filtered = true}), "changed");
    if (end == std::string_view("killed")) {
      ASSERT_TRUE(queue_->Flush().ok());
      FailWrites();
    }
    queue_->Stop();
    waits.join();
    if (end == std::string_view("killed")) {
      Crash();
    } else {
      Restart({});
    }
    Work();
    BeginList();
    EXPECT_EQ(List("a", "3"), "changed +1");
    Work();
    ASSERT_TRUE(list_->End().ok());
  }
}

TEST_F(SourcesTest, AFilteredObservationDoesNotPassForOneOfTwoThatWait) {
  Restart({.max_pending = 1, .when_full = WhenFull::kWait});
  Observe("a", "1");
  Work();
  Add("other");
  const auto waiting = [this](uint64_t calls) {
    return support::Eventually([this, calls] { return queue_->Counts().full == calls; });
  };
  std::thread first([this] { EXPECT_EQ(Observe("a", "2"), "changed +1"); });
  EXPECT_TRUE(waiting(1));
  std::thread second([this] { EXPECT_EQ(Observe("a", "3", {"a", "b"}), "ShuttingDown"); });
  EXPECT_TRUE(waiting(2));
  Work(1);
  first.join();
  EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "4", .filtered = true}), "changed");
  queue_->Stop();
  second.join();
  Restart({});
  Work();
  BeginList();
  EXPECT_EQ(List("a", "4"), "changed +1");
}

TEST_F(SourcesTest, AFilteredObservationDoesNotPassForOneOfAListThatIsOver) {
  Observe("a", "1");
  Work();
  BeginList();
  EXPECT_EQ(List("a", "1"), "unchanged");
  ASSERT_TRUE(list_->End().ok());
  EXPECT_EQ(List("a", "2"), "InvalidArgument");
  EXPECT_EQ(ObserveBy(&pods_, {.object = "a", .version = "3", .filtered = true}), "changed");
  BeginList();
  EXPECT_EQ(List("a", "3"), "changed +1");
}

// Each time in a list of another scope than that of the row.
TEST_F(SourcesTest, AFilteredObservationIsOfTheScopeOfItsList) {
  const std::string_view keys[] = {"k"};
  for (const Observation& of : std::initializer_list<Observation>{
           {.object = "a", .version = "1", .keys = keys, .tombstone = "t", .filtered = true},
           {.object = "a", .version = "1", .keys = keys, .filtered = true},
           {.object = "a", .version = "1", .tombstone = "t", .filtered = true},
           {.object = "a", .version = "1", .filtered = true}}) {
    BeginList({.scope = "all"});
    EXPECT_EQ(
        ObserveBy(list_.get(), {.object = "a", .version = "", .keys = keys, .tombstone = "t"}),
        "changed +1");
    ASSERT_TRUE(list_->End().ok());
    Work();
    for (int times = 0; times < 2; ++times) {
      BeginList({.scope = "web"});
      EXPECT_EQ(ObserveBy(list_.get(), of), times == 0 ? "changed" : "unchanged");
      ASSERT_TRUE(list_->End().ok());
    }
    BeginList({.scope = "web"});
    ASSERT_TRUE(list_->End().ok());  // It was deleted.
    EXPECT_EQ(State(), "k:q");
    Work();
  }
}

}  // namespace
}  // namespace wq
