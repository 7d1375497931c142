// ViewServer: the page of a store that nobody serves.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "server/view/stored_store.h"
#include "tests/server/server_fixture.h"
#include "wq/clock.h"
#include "wq/server.h"

namespace wq {
namespace {

using Json = nlohmann::json;

class ViewServerTest : public testing::Test, protected ServerFixture {
 protected:
  void View(const ViewServerOptions& options = {.http_address = "127.0.0.1:0"}) {
    const Status s = ViewServer::Open(store_dir_, options, &view_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  std::string Ask(const std::string& request) const {
    return Say(ConnectTcp(view_->http_port()), request);
  }
  Json Call(const std::string& method, const std::string& json) const {
    const std::string answer = Ask(PostOf("/wq.v1." + method, json));
    return Json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  // Each file of the store with its bytes.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    DIR* const dir = opendir(store_dir_.c_str());
    for (const dirent* entry = readdir(dir); entry != nullptr; entry = readdir(dir)) {
      const std::string path = store_dir_ + "/" + entry->d_name;
      struct stat status = {};
      if (lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        std::ifstream file(path, std::ios::binary);
        files[entry->d_name] = {std::istreambuf_iterator<char>(file), {}};
      }
    }
    closedir(dir);
    return files;
  }

  std::unique_ptr<ViewServer> view_;
};

TEST_F(ViewServerTest, ShowsAClosedStoreAndChangesNoByte) {
  ASSERT_TRUE(pods_->Add("a").ok());
  ASSERT_TRUE(pods_->Quarantine("b", "no disk 7").ok());
  ASSERT_TRUE(store_->Close().ok());
  const std::map<std::string, std::string> before = Files();
  View();
  const Json overview = Call("Browse/GetOverview", "{}");
  EXPECT_EQ(overview["queues"][0]["counts"]["queued"], "1");
  EXPECT_EQ(overview["queues"][0]["counts"]["quarantined"], "1");
  EXPECT_EQ(overview["health"]["code"], "CODE_OK");
  EXPECT_EQ(overview["pid"], "0");
  EXPECT_NE(overview["read_at_us"], "0");
  EXPECT_TRUE(Call("Browse/GetOverview", R"({"queue": "other"})")["queues"].empty());
  const Json found = Call("Browse/Search", R"({"queue": "pods"})");
  ASSERT_EQ(found["keys"].size(), 2U);
  EXPECT_EQ(found["keys"][0]["key"], "YQ==");
  const Json key = Call("Browse/GetKey", R"({"queue": "pods", "key": "Yg=="})");
  EXPECT_EQ(key["key"]["last_error"], "no disk 7");
  EXPECT_EQ(Call("Browse/GroupErrors", "{}")["groups"][0]["form"], "no disk <n>");
  EXPECT_EQ(Call("Browse/GetSeries", R"({"queue": "pods"})")["code"], "NotSupported");
  EXPECT_TRUE(Call("Admin/ListWorkers", "{}")["workers"].empty());
  EXPECT_EQ(Call("Browse/GetHistory", R"({"queue": "pods", "key": "YQ=="})")["code"],
            "NotSupported");
  EXPECT_EQ(Call("Browse/Search", R"({"queue": "none"})")["code"], "NotFound");
  view_.reset();
  EXPECT_EQ(Files(), before);
}

TEST_F(ViewServerTest, ReadsBesideTheOwner) {
  ASSERT_TRUE(pods_->Add("a").ok());
  View();
  EXPECT_EQ(Call("Browse/Search", R"({"queue": "pods"})")["matched"], "1");
  EXPECT_NE(Call("Browse/GetOverview", "{}")["pid"], "0");
  std::string key;
  ASSERT_TRUE(pods_->Get(&key).ok());  // The owner goes on.
  ASSERT_TRUE(pods_->Done(key).ok());
}

TEST_F(ViewServerTest, HasNoCallThatChangesSomething) {
  View();
  for (const char* method :
       {"Admin/Change", "Admin/ChangeMatching", "Admin/Pause", "Admin/DeleteQueue", "Queue/Add"}) {
    EXPECT_EQ(Call(method, R"({"queue": "pods"})")["code"], "NotFound") << method;
  }
  EXPECT_NE(Ask("GET /ui/session HTTP/1.1\r\nHost: localhost\r\n\r\n").find(R"("read_only":true)"),
            std::string::npos);
}

TEST_F(ViewServerTest, RefusesOtherOriginsAndHosts) {
  View();
  for (const char* headers :
       {"Host: evil.example\r\n", "Host: localhost\r\nOrigin: http://evil\r\n"}) {
    EXPECT_EQ(Ask(PostOf("/wq.v1.Browse/Search", R"({"queue": "pods"})", headers)).substr(0, 12),
              "HTTP/1.1 403")
        << headers;
  }
}

TEST_F(ViewServerTest, AsksForTheTokenIfThereIsOne) {
  View({.http_address = "127.0.0.1:0", .token_file = Secret("token", "secret")});
  const std::string body = R"({"queue": "pods"})";
  EXPECT_EQ(Ask(PostOf("/wq.v1.Browse/Search", body)).substr(0, 12), "HTTP/1.1 401");
  EXPECT_EQ(Ask(PostOf("/wq.v1.Browse/Search", body,
                       "Host: localhost\r\nAuthorization: Bearer secret\r\n"))
                .substr(0, 12),
            "HTTP/1.1 200");
}

TEST_F(ViewServerTest, RefusesWhatItCannotServe) {
  std::unique_ptr<ViewServer> view;
  EXPECT_EQ(ViewServer::Open(dir_ / "none", {.http_address = "127.0.0.1:0"}, &view).code(),
            StatusCode::kNotFound);
  EXPECT_EQ(ViewServer::Open(store_dir_, {.http_address = "192.0.2.1:0"}, &view).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(
      ViewServer::Open(store_dir_, {.http_address = "0.0.0.0:0", .http_any_address = true}, &view)
          .code(),
      StatusCode::kInvalidArgument);
}

// A view is opened anew when it is old, and not before.
TEST_F(ViewServerTest, AStoredStoreIsReadAgainWhenTheReadingIsOld) {
  ManualClock clock;
  StoredStore store(store_dir_, &clock);
  ASSERT_TRUE(store.Open().ok());
  const auto queued = [&store] {
    v1::GetOverviewResponse overview;
    store.ReadOverview("pods", &overview);
    return overview.queues(0).counts().queued();
  };
  const auto found = [&store] {
    size_t count = 0;
    EXPECT_TRUE(store.Scan("pods", [&count](const KeyInfo&) { return ++count > 0; }).ok());
    return count;
  };
  EXPECT_EQ(queued(), 0U);
  EXPECT_EQ(found(), 0U);
  ASSERT_TRUE(pods_->Add("a").ok());
  EXPECT_EQ(queued(), 0U);
  EXPECT_EQ(found(), 0U);
  clock.Advance(std::chrono::microseconds(StoredStore::kFreshUs));
  EXPECT_EQ(queued(), 1U);
  EXPECT_EQ(found(), 1U);
}

}  // namespace
}  // namespace wq
