// The calls of Browse for a store that nobody serves: keys as a StoreView reads them.
#include <memory>
#include <string>
#include <vector>

#include "server/service/services.h"
#include "server/view/stored_store.h"
#include "tests/server/server_fixture.h"
#include "wq/v1/browse.pb.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class StoredKeysTest : public testing::Test, protected ServerFixture {
 protected:
  // Closes the store, and reads it from now on.
  void View() {
    ASSERT_TRUE(store_->Close().ok());
    const Status s = stored_.Open();
    ASSERT_TRUE(s.ok()) << s.ToString();
    AddBrowseKeys({.keys = &stored_, .turns = &turns_}, &table_);
  }
  template <typename Response, typename Request>
  Status Call(const std::string& name, const Request& request, Response* response) const {
    return table_.Find("/wq.v1.Browse/" + name)->call({.peer = "x"}, request, response);
  }
  // "KEY: its states" of each row.
  std::vector<std::string> Search(v1::SearchRequest request) const {
    request.set_queue("pods");
    v1::SearchResponse response;
    const Status s = Call("Search", request, &response);
    EXPECT_TRUE(s.ok()) << s.ToString();
    std::vector<std::string> rows;
    for (const v1::KeyRow& row : response.keys()) {
      rows.push_back(Text(row));
    }
    return rows;
  }
  static std::string Text(const v1::KeyRow& row) {
    std::string text = row.key() + ":";
    for (const int state : row.states()) {
      text += " " + v1::KeyState_Name(static_cast<v1::KeyState>(state)).substr(10);
    }
    return text + (row.failures() > 0 ? " " + row.last_error() : "");
  }
  std::string GetKey(const std::string& key) const {
    v1::GetKeyRequest request;
    request.set_queue("pods");
    request.set_key(key);
    v1::GetKeyResponse response;
    const Status s = Call("GetKey", request, &response);
    return s.ok() ? Text(response.key()) : std::string(StatusCodeName(s.code()));
  }

  StoredStore stored_{store_dir_, Clock::System()};
  SearchTurns turns_;
  MethodTable table_;
};

TEST_F(StoredKeysTest, ShowTheirStatesAndErrors) {
  ASSERT_TRUE(pods_->Add("held").ok());
  std::string key;
  ASSERT_TRUE(pods_->Get(&key).ok());
  ASSERT_TRUE(pods_->Add("a", {.lane = 4, .group = "g"}).ok());
  ASSERT_TRUE(pods_->AddRateLimited("fails", "no route").ok());
  ASSERT_TRUE(pods_->AddRateLimited("only", "gone").ok());
  ASSERT_TRUE(pods_->CancelDelay("only").ok());
  ASSERT_TRUE(pods_->Quarantine("bad", "poison").ok());
  View();
  // A key that is processing is shown as queued.
  EXPECT_THAT(Search({}),
              ElementsAre("a: QUEUED", "bad: QUARANTINED", "fails: DELAYED FAILING no route",
                          "held: QUEUED", "only: FAILING gone"));
  v1::SearchRequest request;
  request.mutable_filter()->set_error("GONE");
  EXPECT_THAT(Search(request), ElementsAre("only: FAILING gone"));
  request.mutable_filter()->Clear();
  request.mutable_filter()->set_group("g");
  EXPECT_THAT(Search(request), ElementsAre("a: QUEUED"));
  EXPECT_EQ(GetKey("fails"), "fails: DELAYED FAILING no route");
  EXPECT_EQ(GetKey("nope"), "NotFound");
  v1::GroupErrorsResponse groups;
  ASSERT_TRUE(Call("GroupErrors", v1::GroupErrorsRequest(), &groups).ok());
  EXPECT_EQ(groups.groups_size(), 3);
}

TEST_F(StoredKeysTest, AKeyWithTwoEntriesIsFoundTwiceAndShownOnce) {
  ASSERT_TRUE(pods_->Add("both", {.lane = 2}).ok());
  ASSERT_TRUE(pods_->AddAfter("both", hours(1)).ok());
  View();
  EXPECT_THAT(Search({}), UnorderedElementsAre("both: QUEUED", "both: DELAYED"));
  EXPECT_EQ(GetKey("both"), "both: QUEUED DELAYED");
}

}  // namespace
}  // namespace wq
