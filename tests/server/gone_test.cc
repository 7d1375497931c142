// Searches and bulk changes whose client is gone: they end, and let others go on.

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/store_access.h"
#include "server/browse/key_source.h"
#include "server/browse/search_turns.h"
#include "server/http/http_api.h"
#include "server/rpc/rpc_server.h"
#include "server/service/services.h"
#include "tests/server/http/http_client.h"
#include "tests/support/wait.h"
#include "wq/v1/admin.pb.h"
#include "wq/v1/browse.grpc.pb.h"

namespace wq {
namespace {

using std::chrono::steady_clock;

// The queue "endless" has a key again and again, until the scan is ended; IOError: nobody ends it.
// Others have none.
class EndlessKeys final : public KeySource {
 public:
  Status Check(std::string_view) const override { return {}; }
  Status Scan(std::string_view queue, const KeyVisitor& visit) const override {
    if (queue != "endless") {
      return {};
    }
    const auto deadline = support::PatienceEnds();
    while (steady_clock::now() < deadline) {
      KeyInfo key;
      key.key = "a";
      key.failing = true;
      if (!visit(key)) {
        return {};
      }
    }
    return Status::IOError("nobody has ended the scan");
  }
  Status Inspect(std::string_view, std::string_view,
                 const std::function<void(const KeyInfo&)>&) const override {
    return Status::NotFound("no key");
  }
  std::vector<std::string> Names() const override { return {"endless"}; }
};

class GoneTest : public ::testing::Test, protected ServerFixture {
 protected:
  GoneTest() {
    AddBrowseKeys({.keys = &keys_, .turns = &turns_}, &methods_);
    AddChangeMatching({.turns = &turns_, .access = &access_}, &methods_);
  }

  template <typename Response, typename Request>
  Status CallOfGone(const std::string& path, const Request& request) const {
    Response response;
    return methods_.Find(path)->call({.peer = "x", .gone = [] { return true; }}, request,
                                     &response);
  }
  std::unique_ptr<v1::Browse::Stub> Connect() const {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    rpc_->Handle(ends[0], false);
    return v1::Browse::NewStub(grpc::CreateInsecureChannelFromFd("wq", ends[1]));
  }
  static grpc::Status GroupErrors(v1::Browse::Stub* stub, const std::string& queue,
                                  std::chrono::milliseconds timeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    v1::GroupErrorsRequest request;
    request.set_queue(queue);
    v1::GroupErrorsResponse response;
    return stub->GroupErrors(&context, request, &response);
  }

  StoreAccess access_{store_.get(), nullptr, false};
  EndlessKeys keys_;
  SearchTurns turns_;
  MethodTable methods_;
  std::unique_ptr<RpcServer> rpc_;
};

TEST_F(GoneTest, AHistoryOfAClientThatIsGoneIsNotRead) {
  bool read = false;
  AddHistoryService(
      [&read](std::string_view, std::string_view, size_t, KeyHistory*) {
        read = true;
        return Status::Ok();
      },
      &turns_, &methods_);
  const v1::GetHistoryRequest request;
  const std::string path = "/wq.v1.Browse/GetHistory";
  {
    const SearchTurn other(&turns_, {});
    EXPECT_EQ(CallOfGone<v1::GetHistoryResponse>(path, request).code(), StatusCode::kShuttingDown);
    EXPECT_FALSE(read);
  }
  EXPECT_TRUE(CallOfGone<v1::GetHistoryResponse>(path, request).ok());
  EXPECT_TRUE(read);
}

TEST_F(GoneTest, ASearchOfAClientThatIsGoneEnds) {
  v1::SearchRequest search;
  search.set_queue("endless");
  EXPECT_EQ(CallOfGone<v1::SearchResponse>("/wq.v1.Browse/Search", search).code(),
            StatusCode::kShuttingDown);
  EXPECT_EQ(
      CallOfGone<v1::GroupErrorsResponse>("/wq.v1.Browse/GroupErrors", v1::GroupErrorsRequest())
          .code(),
      StatusCode::kShuttingDown);
}

TEST_F(GoneTest, AClientThatIsGoneLeavesItsPlaceInTheRow) {
  const SearchTurn first(&turns_, {.peer = "x"});
  ASSERT_TRUE(first.status().ok());
  for (size_t i = 0; i <= SearchTurns::kMaxWaiting; ++i) {
    const SearchTurn next(&turns_, {.peer = "x", .gone = [] { return true; }});
    EXPECT_EQ(next.status().code(), StatusCode::kShuttingDown);
  }
}

TEST_F(GoneTest, FewCallsAwaitTheErrorsHoldUpNoChangeAndLeaveWithTheirClients) {
  const SearchTurn first(&turns_, {.peer = "x"});
  const Method* const method = methods_.Find("/wq.v1.Browse/GroupErrors");
  constexpr size_t kCalls = 100;
  std::atomic<bool> gone = false;
  std::atomic<size_t> refused = 0;
  std::atomic<size_t> left = 0;
  std::vector<std::thread> viewers;
  for (size_t i = 0; i < kCalls; ++i) {
    viewers.emplace_back([&] {
      v1::GroupErrorsResponse response;
      const Status s = method->call({.peer = "x", .gone = [&] { return gone.load(); }},
                                    v1::GroupErrorsRequest(), &response);
      ++(s.code() == StatusCode::kTimedOut ? refused : left);
    });
  }
  EXPECT_TRUE(support::Eventually([&] { return refused == kCalls - SearchTurns::kMaxWaiting; }));
  v1::ChangeMatchingRequest change;
  change.set_queue("pods");
  change.set_kind(v1::ChangeMatchingRequest::DELETE);
  v1::ChangeMatchingResponse changed;
  const Method* const changes = methods_.Find("/wq.v1.Admin/ChangeMatching");
  EXPECT_TRUE(changes->call({.peer = "x"}, change, &changed).ok());
  gone = true;
  for (std::thread& viewer : viewers) {
    viewer.join();
  }
  EXPECT_EQ(left, SearchTurns::kMaxWaiting);
}

TEST_F(GoneTest, ABulkChangeOfAClientThatIsGoneEnds) {
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(pods_->Add("key-" + std::to_string(i), {.durability = Durability::kAsync}).ok());
  }
  v1::ChangeMatchingRequest request;
  request.set_queue("pods");
  request.set_kind(v1::ChangeMatchingRequest::DELETE);
  EXPECT_EQ(CallOfGone<v1::ChangeMatchingResponse>("/wq.v1.Admin/ChangeMatching", request).code(),
            StatusCode::kShuttingDown);
  EXPECT_GT(pods_->Len(), 0U);
}

TEST_F(GoneTest, GroupErrorsThatNobodyAwaitsShutNobodyOutOverGrpc) {
  ASSERT_TRUE(RpcServer::Open({.methods = &methods_}, &rpc_).ok());
  const auto stub = Connect();
  for (int i = 0; i < 17; ++i) {
    EXPECT_EQ(GroupErrors(stub.get(), "endless", std::chrono::milliseconds(50)).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  const grpc::Status s = GroupErrors(stub.get(), "none", support::kPatience);
  EXPECT_TRUE(s.ok()) << s.error_message();
  rpc_.reset();
}

TEST_F(GoneTest, GroupErrorsThatNobodyAwaitsShutNobodyOutOverHttp) {
  Http http({.not_found = NoSuchMethod,
             .refused = RefusedReply,
             .max_request_bytes = size_t{1} << 20,
             .io_timeout = std::chrono::hours(1),
             .idle_timeout = std::chrono::hours(1)});
  AddApi(methods_, nullptr, &http);
  const std::string path = "/wq.v1.Browse/GroupErrors";
  std::list<HttpClient> gone;
  for (int i = 0; i < 17; ++i) {
    gone.emplace_back(http).Send(HttpClient::PostOf(path, R"({"queue": "endless"})"));
  }
  for (HttpClient& client : gone) {
    client.CloseEnd();
  }
  // Until the server has seen that they are gone.
  HttpClient client(http);
  const auto deadline = support::PatienceEnds();
  int status = 0;
  do {
    status = client.Post(path, R"({"queue": "none"})").status;
  } while (status == 504 && steady_clock::now() < deadline);
  EXPECT_EQ(status, 200);
}

}  // namespace
}  // namespace wq
