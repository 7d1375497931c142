// Admin.ChangeMatching: each kind, its dry run, and many keys under load.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/browse_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;

using Request = v1::ChangeMatchingRequest;

class ChangeMatchingTest : public BrowseFixture {
 protected:
  // "MATCHED matched, DONE done" of a dry run, which must change nothing, and of the change.
  std::string ChangeBoth(Request request) const {
    const std::vector<std::string> before = Matching({});
    request.set_dry_run(true);
    const v1::ChangeMatchingResponse dry = Change(request);
    EXPECT_EQ(Matching({}), before);
    request.set_dry_run(false);
    const v1::ChangeMatchingResponse real = Change(request);
    EXPECT_EQ(dry.matched(), real.matched());
    EXPECT_EQ(dry.done(), real.done());
    return std::to_string(real.matched()) + " matched, " + std::to_string(real.done()) + " done";
  }
  static Request Of(Request::Kind kind, const std::string& prefix) {
    Request request;
    request.set_kind(kind);
    request.mutable_filter()->set_prefix(prefix);
    return request;
  }
};

TEST_F(ChangeMatchingTest, EachKind) {
  for (const char* key : {"a/1", "a/2", "b/1"}) {
    Add(key);
  }
  Fail("a/3", "e");
  ASSERT_TRUE(pods_->Quarantine("a/4").ok());
  ASSERT_TRUE(pods_->Quarantine("a/5").ok());
  ASSERT_TRUE(pods_->AddAfter("a/6", hours(5)).ok());

  EXPECT_EQ(ChangeBoth(Of(Request::FORGET, "a/")), "6 matched, 1 done");
  EXPECT_EQ(pods_->NumRequeues("a/3"), 0U);
  EXPECT_EQ(ChangeBoth(Of(Request::RELEASE, "a/4")), "1 matched, 1 done");
  EXPECT_EQ(ChangeBoth(Of(Request::DROP, "a/")), "6 matched, 1 done");
  EXPECT_TRUE(pods_->Quarantined().empty());
  EXPECT_EQ(ChangeBoth(Of(Request::CANCEL_DELAY, "a/3")), "1 matched, 1 done");
  EXPECT_EQ(ChangeBoth(Of(Request::REQUEUE, "a/")), "4 matched, 1 done");
  EXPECT_EQ(GetKey("a/6").key().states(0), v1::KEY_STATE_QUEUED);
  Request move = Of(Request::ADD, "a/2");
  move.set_lane(9);
  EXPECT_EQ(ChangeBoth(move), "1 matched, 1 done");
  EXPECT_EQ(GetKey("a/2").key().lane(), 9);
  EXPECT_EQ(ChangeBoth(Of(Request::REMOVE, "a/1")), "1 matched, 1 done");
  EXPECT_EQ(ChangeBoth(Of(Request::DELETE, "a/")), "3 matched, 3 done");
  EXPECT_EQ(Matching({}), std::vector<std::string>{"b/1"});
}

TEST_F(ChangeMatchingTest, ReleasesAtARate) {
  for (const char* key : {"a/1", "a/2", "a/3"}) {
    ASSERT_TRUE(pods_->Quarantine(key).ok());
  }
  Add("a/4");
  Request release = Of(Request::RELEASE, "a/");
  release.set_per_second(0.001);
  EXPECT_EQ(ChangeBoth(release), "4 matched, 3 done");
  const QueueCounts counts = pods_->Counts();
  EXPECT_EQ(counts.queued, 2U);  // The first at once.
  EXPECT_EQ(counts.delayed, 2U);
}

TEST_F(ChangeMatchingTest, RefusesWhatIsInvalid) {
  Add("a");
  const auto refused = [this](const std::function<void(Request*)>& set) {
    Request request = Of(Request::DELETE, "");
    request.set_queue("pods");
    set(&request);
    v1::ChangeMatchingResponse response;
    const grpc::Status s = TryChange(request, &response);
    EXPECT_EQ(s.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return s.error_message();
  };
  EXPECT_THAT(refused([](auto* r) { r->clear_kind(); }), HasSubstr("kind: "));
  EXPECT_THAT(refused([](auto* r) { r->set_kind(static_cast<Request::Kind>(77)); }),
              HasSubstr("kind: "));
  EXPECT_THAT(refused([](auto* r) { r->set_lane(1); }), HasSubstr("lane: "));
  EXPECT_THAT(refused([](auto* r) { r->set_per_second(1); }), HasSubstr("per_second: "));
  EXPECT_THAT(refused([](auto* r) { r->mutable_filter()->set_pattern("["); }),
              HasSubstr("filter.pattern: "));
  EXPECT_THAT(refused([](auto* r) { r->set_durability(v1::DURABILITY_REPLICATED); }),
              HasSubstr("not replicated"));
  EXPECT_EQ(Matching({}).size(), 1U);
}

TEST_F(ChangeMatchingTest, WaitsForNoRoom) {
  Queue* full = nullptr;
  ASSERT_TRUE(store_->OpenQueue("full", {.max_pending = 1}, &full).ok());
  ASSERT_TRUE(full->Add("a").ok());
  ASSERT_TRUE(full->AddAfter("b", hours(5)).ok());
  Request add = Of(Request::ADD, "b");
  add.set_queue("full");
  v1::ChangeMatchingResponse response;
  EXPECT_THAT(TryChange(add, &response).error_message(), HasSubstr("full"));
  EXPECT_EQ(full->Counts().delayed, 1U);
}

// Beside a worker and an adder: no key that matches all the time is left out, no other one is
// changed.
TEST_F(ChangeMatchingTest, ManyKeysUnderLoad) {
  constexpr size_t kKeys = 100'000;
  for (size_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(pods_->AddAfter("late-" + std::to_string(i), hours(1)).ok());
    ASSERT_TRUE(i % 10 != 0 || pods_->AddAfter("other-" + std::to_string(i), hours(1)).ok());
  }
  std::atomic<bool> stop = false;
  std::atomic<size_t> worked = 0;
  std::thread adder([&] {
    for (size_t i = 0; !stop; ++i) {
      EXPECT_TRUE(pods_->Add("work-" + std::to_string(i % 1000), {.lane = 100}).ok());
    }
  });
  std::thread worker([&] {
    std::string key;
    while (!stop) {
      if (pods_->GetFor(std::chrono::microseconds(100), &key).ok()) {
        ++worked;
        EXPECT_TRUE(pods_->Done(key).ok());
      }
    }
  });
  EXPECT_TRUE(support::Eventually([&] { return worked > 0; }));
  const v1::ChangeMatchingResponse cancelled = Change(Of(Request::CANCEL_DELAY, "late-"));
  stop = true;
  adder.join();
  worker.join();
  EXPECT_EQ(cancelled.matched(), kKeys);
  EXPECT_EQ(cancelled.done(), kKeys);
  EXPECT_EQ(pods_->Counts().delayed, kKeys / 10);
}

}  // namespace
}  // namespace wq
