// The service Browse, over gRPC and HTTP: filters, one key, counts and errors.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tests/server/browse_fixture.h"
#include "wq/live_worker.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kHostile("\0\n<script>\xff\xE2\x80\xAE", 14);

class BrowseTest : public BrowseFixture {
 protected:
  BrowseTest() {
    Add("a/1", {.lane = 5, .group = "red"});
    Add("a/2", {.group = "red"});
    Add("b/1");
    Add(kHostile, {.group = "g\xff"});
    Fail("b/2", "dial 10.0.0.7:443: No Route");
    Fail("b/3", "dial 10.0.0.9:443: no route");
    Fail("b/3", "dial 10.0.0.8:443: no route");
    EXPECT_TRUE(pods_->Quarantine("c/1", "poison").ok());
    EXPECT_TRUE(pods_->AddAfter("c/2", hours(2)).ok());
  }
  std::vector<std::string> Where(const std::function<void(v1::KeyFilter*)>& set) const {
    v1::KeyFilter filter;
    set(&filter);
    return Matching(filter);
  }
};

TEST_F(BrowseTest, AnEmptyFilterMatchesEveryKeyOfAnyBytes) {
  EXPECT_THAT(Where([](auto*) {}),
              ElementsAre(kHostile, "a/1", "a/2", "b/1", "b/2", "b/3", "c/1", "c/2"));
}

TEST_F(BrowseTest, EachFieldOfAFilter) {
  EXPECT_THAT(Where([](auto* f) { f->set_prefix("b/"); }), ElementsAre("b/1", "b/2", "b/3"));
  EXPECT_THAT(Where([](auto* f) { f->set_substring("/2"); }), ElementsAre("a/2", "b/2", "c/2"));
  EXPECT_THAT(Where([](auto* f) { f->set_substring("\xff"); }), ElementsAre(kHostile));
  EXPECT_THAT(Where([](auto* f) { f->set_pattern("^[ac].1$"); }), ElementsAre("a/1", "c/1"));
  EXPECT_THAT(Where([](auto* f) { f->set_pattern("script>.\\xE2"); }), ElementsAre(kHostile));
  EXPECT_THAT(Where([](auto* f) { f->set_lane(5); }), ElementsAre("a/1"));
  EXPECT_THAT(Where([](auto* f) { f->set_group("red"); }), ElementsAre("a/1", "a/2"));
  EXPECT_THAT(Where([](auto* f) {
                f->set_group("");
                f->set_prefix("b/1");
              }),
              ElementsAre("b/1"));
  EXPECT_THAT(Where([](auto* f) { f->set_shard(0); }), IsEmpty());  // It has no shards.
  EXPECT_THAT(Where([](auto* f) { f->set_min_failures(2); }), ElementsAre("b/3"));
  EXPECT_THAT(Where([](auto* f) { f->set_error("NO rOUTE"); }), ElementsAre("b/2", "b/3"));
  EXPECT_THAT(Where([](auto* f) { f->set_error("."); }), ElementsAre("b/2", "b/3"));
  EXPECT_THAT(Where([](auto* f) { f->set_error_form("dial <address>: no route"); }),
              ElementsAre("b/3"));
  EXPECT_THAT(Where([](auto* f) { f->set_error_form(""); }), IsEmpty());
}

TEST_F(BrowseTest, StatesAreAlternatives) {
  EXPECT_THAT(Where([](auto* f) { f->add_states(v1::KEY_STATE_QUARANTINED); }), ElementsAre("c/1"));
  EXPECT_THAT(Where([](auto* f) {
                f->add_states(v1::KEY_STATE_QUARANTINED);
                f->add_states(v1::KEY_STATE_DELAYED);
              }),
              ElementsAre("b/2", "b/3", "c/1", "c/2"));
  EXPECT_THAT(Where([](auto* f) { f->add_states(v1::KEY_STATE_PROCESSING); }), IsEmpty());
  std::string key;
  ASSERT_TRUE(pods_->Get(&key).ok());
  EXPECT_THAT(Where([](auto* f) { f->add_states(v1::KEY_STATE_PROCESSING); }), ElementsAre(key));
}

TEST_F(BrowseTest, RefusesWhatIsInvalidAndNamesTheField) {
  const auto refused = [this](const std::function<void(v1::SearchRequest*)>& set) {
    v1::SearchRequest request;
    request.set_queue("pods");
    set(&request);
    v1::SearchResponse response;
    const grpc::Status s = TrySearch(request, &response);
    EXPECT_EQ(s.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return s.error_message();
  };
  EXPECT_THAT(refused([](auto* r) { r->mutable_filter()->set_pattern("a(b"); }),
              HasSubstr("filter.pattern: "));
  EXPECT_THAT(refused([](auto* r) { r->mutable_filter()->set_pattern("(a{1000}){1000}"); }),
              HasSubstr("filter.pattern: "));
  EXPECT_THAT(refused([](auto* r) { r->mutable_filter()->set_pattern(std::string(5000, 'x')); }),
              HasSubstr("filter.pattern: "));
  EXPECT_THAT(refused([](auto* r) { r->mutable_filter()->set_error(std::string(5000, 'x')); }),
              HasSubstr("filter.error: "));
  EXPECT_THAT(
      refused([](auto* r) { r->mutable_filter()->add_states(static_cast<v1::KeyState>(9)); }),
      HasSubstr("filter.states: "));
  EXPECT_THAT(refused([](auto* r) { r->set_sort(static_cast<v1::SearchRequest::Sort>(9)); }),
              HasSubstr("sort: "));
  EXPECT_THAT(refused([](auto* r) { r->set_page("x"); }), HasSubstr("page: "));
  v1::SearchRequest request;
  request.set_queue("nope");
  v1::SearchResponse response;
  EXPECT_EQ(TrySearch(request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(BrowseTest, AKeyHasItsCauses) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  ASSERT_TRUE(pods_->Add("a/why", {.reason = "created", .trace_parent = trace}).ok());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(pods_->Add("a/why", {.reason = "changed " + std::to_string(i)}).ok());
  }
  const v1::GetKeyResponse key = GetKey("a/why");
  ASSERT_EQ(key.causes_size(), static_cast<int>(kMaxCauses));
  EXPECT_EQ(key.causes(0).reason(), "created");
  EXPECT_EQ(key.causes(0).trace_parent(), trace);
  EXPECT_EQ(key.causes_left_out(), 3U);
  EXPECT_EQ(GetKey("a/2").causes_size(), 0);
}

TEST_F(BrowseTest, OneKeyWithAllThatIsKnown) {
  const v1::GetKeyResponse second = GetKey("a/2");
  EXPECT_EQ(second.position(), 1U);  // a/1 is in a higher lane.
  EXPECT_EQ(second.key().group(), "red");
  const v1::GetKeyResponse failing = GetKey("b/3");
  EXPECT_FALSE(failing.has_position());
  EXPECT_EQ(failing.key().failures(), 2U);
  EXPECT_EQ(failing.key().last_error(), "dial 10.0.0.8:443: no route");
  EXPECT_EQ(failing.key().ready_at_us() - failing.key().added_at_us(), failing.key().delay_us());
  ASSERT_TRUE(pods_->Pause().ok());
  EXPECT_TRUE(GetKey(kHostile).queue_paused());
  EXPECT_EQ(GetKey(kHostile).key().key(), kHostile);
  v1::GetKeyResponse none;
  EXPECT_EQ(TryGetKey("nope", &none).error_code(), grpc::StatusCode::NOT_FOUND);
  Queue* sharded = nullptr;
  ASSERT_TRUE(store_->OpenQueue("sharded", {.shards = 2}, &sharded).ok());
  ASSERT_TRUE(sharded->Add("a").ok());
  EXPECT_FALSE(GetKey("a", "sharded").has_position());  // Which shard is handed out first?
}

TEST_F(BrowseTest, TheWorkerThatHoldsAKey) {
  const auto live = ServerFixture::Connect();
  std::unique_ptr<LiveWorker> worker;
  ASSERT_TRUE(live->Work("pods", {.name = "worker-7"}, &worker).ok());
  AssignedKey assigned;
  ASSERT_TRUE(worker->Get(&assigned).ok());
  const v1::GetKeyResponse held = GetKey(assigned.key);
  EXPECT_EQ(held.worker(), "worker-7");
  EXPECT_THAT(held.peer(), HasSubstr("unix"));
  EXPECT_GT(held.held_since_us(), 0);
  EXPECT_EQ(held.token(), assigned.token);
  EXPECT_EQ(held.attempt(), 1U);
  EXPECT_THAT(held.key().states(), ElementsAre(v1::KEY_STATE_PROCESSING));
  EXPECT_EQ(GetKey("c/1").worker(), "");
}

TEST_F(BrowseTest, ErrorsAreGrouped) {
  Fail("b/4", "dial 10.1.1.1:443: no route");
  grpc::ClientContext context;
  v1::GroupErrorsRequest request;
  v1::GroupErrorsResponse response;
  ASSERT_TRUE(browse_->GroupErrors(&context, request, &response).ok());
  ASSERT_EQ(response.groups_size(), 3);
  const v1::ErrorGroup& first = response.groups(0);
  EXPECT_EQ(first.queue(), "pods");
  EXPECT_EQ(first.form(), "dial <address>: no route");
  EXPECT_EQ(first.keys(), 2U);
  EXPECT_EQ(first.failures(), 3U);
  EXPECT_EQ(first.examples_size(), 2);
  EXPECT_GE(first.last_at_us(), first.first_at_us());
  EXPECT_EQ(response.groups(2).form(), "poison");
  EXPECT_EQ(response.groups(2).quarantined(), 1U);
  // Each form finds its keys.
  for (const v1::ErrorGroup& group : response.groups()) {
    EXPECT_EQ(Where([&group](auto* f) { f->set_error_form(group.form()); }).size(), group.keys());
  }
  grpc::ClientContext second;
  request.set_limit(1);
  request.set_queue("pods");
  ASSERT_TRUE(browse_->GroupErrors(&second, request, &response).ok());
  EXPECT_EQ(response.groups_size(), 1);
  EXPECT_EQ(response.ungrouped(), 2U);
}

TEST_F(BrowseTest, AnErrorThatIsNotUtf8IsShownReplaced) {
  Fail("z", "bad \xff byte " + std::string(1000, 'y'));
  EXPECT_THAT(GetKey("z").key().last_error(), HasSubstr("bad \xEF\xBF\xBD byte "));
  EXPECT_GT(GetKey("z").key().last_error().size(), 900U);
  v1::SearchRequest request;
  request.mutable_filter()->set_prefix("z");
  EXPECT_LE(Search(request).keys(0).last_error().size(), 302U);
}

}  // namespace
}  // namespace wq
