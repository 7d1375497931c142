// The streams of the service Queue, by stubs that are generated from proto/wq/v1.
#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/server_fixture.h"
#include "wq/v1/admin.grpc.pb.h"
#include "wq/v1/queue.grpc.pb.h"

namespace wq {
namespace {

class StreamsTest : public testing::Test, protected ServerFixture {
 protected:
  StreamsTest() {
    Serve();
    channel_ = grpc::CreateInsecureChannelFromFd("localhost", ConnectUnix().Release());
    queue_ = v1::Queue::NewStub(channel_);
  }
  ~StreamsTest() override { context_.TryCancel(); }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Queue::Stub> queue_;
  grpc::ClientContext context_;
};

TEST_F(StreamsTest, ListAndSnapshot) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(pods_->Add("key-" + std::to_string(i)).ok());
  }
  ASSERT_TRUE(pods_->Quarantine("bad\xff", "why\xff").ok());
  v1::ListRequest request;
  request.set_queue("pods");
  request.set_offset(25);
  v1::ListResponse response;
  ASSERT_TRUE(queue_->List(&context_, request, &response).ok());
  ASSERT_EQ(response.keys_size(), 5);
  EXPECT_EQ(response.keys(0).key(), "key-25");
  request.set_offset(0);
  request.set_state(v1::ListRequest::QUARANTINED);
  grpc::ClientContext second;
  ASSERT_TRUE(queue_->List(&second, request, &response).ok());
  ASSERT_EQ(response.keys_size(), 1);
  EXPECT_EQ(response.keys(0).key(), "bad\xff");
  EXPECT_EQ(response.keys(0).last_error(), "why\xEF\xBF\xBD");
  EXPECT_EQ(response.next(), "");

  v1::CreateSnapshotRequest snapshot;
  snapshot.set_directory(dir_ / "snapshots");
  snapshot.set_name("first");
  v1::CreateSnapshotResponse taken;
  grpc::ClientContext third;
  const grpc::Status s = v1::Admin::NewStub(channel_)->CreateSnapshot(&third, snapshot, &taken);
  ASSERT_TRUE(s.ok()) << s.error_message();
  EXPECT_EQ(taken.path(), dir_ / "snapshots/first");
  EXPECT_TRUE(std::filesystem::exists(taken.path()));
}

// By pages beyond any offset that is taken.
TEST_F(StreamsTest, ListByPages) {
  for (int i = 10'000; i < 22'000; ++i) {
    ASSERT_TRUE(pods_->Add("key-" + std::to_string(i), {.durability = Durability::kAsync}).ok());
  }
  for (int i = 1000; i < 3000; ++i) {
    ASSERT_TRUE(pods_->Quarantine("bad-" + std::to_string(i), "why").ok());
  }
  v1::ListRequest request;
  request.set_queue("pods");
  request.set_offset(8999);
  for (const auto& [state, first, last] : {std::tuple(v1::ListRequest::QUEUED, 18'999, 22'000),
                                           std::tuple(v1::ListRequest::QUARANTINED, 1700, 3000)}) {
    request.set_state(state);
    request.set_offset(state == v1::ListRequest::QUEUED ? 8999 : 700);
    request.clear_page();
    int next = first;
    do {
      grpc::ClientContext context;
      v1::ListResponse response;
      const grpc::Status s = queue_->List(&context, request, &response);
      ASSERT_TRUE(s.ok()) << s.error_message();
      for (const v1::ListResponse::Key& key : response.keys()) {
        ASSERT_EQ(key.key().substr(4), std::to_string(next++));
      }
      request.set_page(response.next());
    } while (!request.page().empty());
    EXPECT_EQ(next, last);
  }
  request.set_offset(9001);
  grpc::ClientContext context;
  v1::ListResponse response;
  const grpc::Status s = queue_->List(&context, request, &response);
  EXPECT_EQ(s.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(s.error_message(), testing::HasSubstr("page"));
}

}  // namespace
}  // namespace wq
