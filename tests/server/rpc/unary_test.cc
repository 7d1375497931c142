// Calls without a stream: results, errors, limits, deadlines, and calls that wait.
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "server/rpc/rpc_status.h"
#include "tests/server/rpc/rpc_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

v1::AddRequest Request(int keys, const std::string& queue = "pods") {
  v1::AddRequest request;
  request.set_queue(queue);
  for (int i = 0; i < keys; ++i) {
    request.add_keys("key-" + std::to_string(i));
  }
  return request;
}

// Calls `path` with these bytes as the message.
grpc::Status CallWithBytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
                           const std::string& bytes) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const grpc::Slice slice(bytes);
  const auto call = stub.PrepareUnaryCall(&context, path, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

TEST(RpcUnary, AnUnknownMethodIsUnimplemented) {
  RpcFixture f;
  f.Open();
  const auto channel = f.Connect();
  for (const std::string path : {"/wq.v1.Queue/Count", "/wq.v1.Queue", "/", "x"}) {
    const grpc::Status status = CallWithBytes(channel, path, "");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << path;
    EXPECT_EQ(status.error_message(), "there is no method " + path);
  }
}

TEST(RpcUnary, BytesThatAreNoMessageAreRefused) {
  RpcFixture f;
  f.Open();
  const auto channel = f.Connect();
  const grpc::Status status = CallWithBytes(channel, "/wq.v1.Queue/Add", "\xff\xff\xff");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "the bytes received are no wq.v1.AddRequest");
  // Field 1, the queue's name, is not UTF-8.
  EXPECT_EQ(CallWithBytes(channel, "/wq.v1.Queue/Add", "\x0a\x01\xff").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  // Unknown fields are ignored.
  EXPECT_TRUE(CallWithBytes(channel, "/wq.v1.Queue/Add", "\xf8\x06\x01").ok());
}

TEST(RpcUnary, ACallWithoutAMessageIsRefused) {
  RpcFixture f;
  f.Open();
  grpc::GenericStub stub(f.Connect());
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  grpc::Status status;
  const auto call = stub.PrepareCall(&context, "/wq.v1.Queue/Add", &queue);
  call->StartCall(nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  call->WritesDone(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  call->Finish(&status, nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "the client has sent no message");
}

TEST(RpcUnary, ReadingsThatWaitDoNotDelayOthers) {
  RpcFixture f;
  f.Open({.max_waiting_calls = 8});
  const auto stub = f.Stub();
  std::vector<std::thread> waiting;
  for (int i = 0; i < 12; ++i) {  // More than there are threads for.
    waiting.emplace_back([&] {
      grpc::ClientContext context;
      v1::QueueCounts response;
      EXPECT_TRUE(stub->Counts(&context, v1::CountsRequest(), &response).ok());
    });
  }
  f.gate.AwaitWaiting(8);
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    v1::AddResponse response;
    v1::AddRequest request = Request(1);
    request.set_queue(i % 2 == 0 ? "pods" : "disk");  // A change that waits has a thread, too.
    EXPECT_TRUE(stub->Add(&context, request, &response).ok());
  }
  f.gate.Open();
  for (std::thread& thread : waiting) {
    thread.join();
  }
}

TEST(RpcUnary, CallsThatWaitHaveSoManyBytesAtMost) {
  RpcFixture f;
  f.Open({.max_waiting_calls = 1, .max_waiting_bytes = 1500});
  const auto stub = f.Stub();
  const auto counts = [&stub](v1::QueueCounts* response) {
    v1::CountsRequest request;
    request.set_queue(std::string(1000, 'x'));
    grpc::ClientContext context;
    return stub->Counts(&context, request, response);
  };
  // One runs, one waits for it, and the others are refused at once.
  std::atomic<int> refused = 0;
  std::vector<std::thread> clients;
  const auto call = [&] {
    v1::QueueCounts response;
    if (const grpc::Status s = counts(&response); !s.ok()) {
      EXPECT_EQ(s.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
      EXPECT_EQ(s.error_message(), "too many calls wait for the disk");
      if (++refused == 3) {
        f.gate.Open();
      }
    }
  };
  clients.emplace_back(call);
  f.gate.AwaitWaiting(1);
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back(call);
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(f.gate.waited(), 2);
}

TEST(RpcUnary, ACallThatIsCancelledBeforeItRunsIsNotMade) {
  RpcFixture f;
  f.Open({.max_waiting_calls = 1});
  const auto stub = f.Stub();
  std::thread first([&] {
    grpc::ClientContext context;
    v1::QueueCounts response;
    EXPECT_TRUE(stub->Counts(&context, v1::CountsRequest(), &response).ok());
  });
  f.gate.AwaitWaiting(1);
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    v1::QueueCounts response;
    EXPECT_EQ(stub->Counts(&context, v1::CountsRequest(), &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  // The server's thread has handled the cancellation before it answers this.
  grpc::ClientContext context;
  v1::AddResponse response;
  EXPECT_TRUE(stub->Add(&context, Request(1), &response).ok());
  f.gate.Open();
  first.join();
  f.server->Close(support::kPatience);
  EXPECT_EQ(f.gate.waited(), 1);
}

TEST(RpcStatus, EachCodeReturnsFromGrpc) {
  for (int i = 0; i <= static_cast<int>(StatusCode::kUnauthenticated); ++i) {
    const auto code = static_cast<StatusCode>(i);
    const Status status = i == 0 ? Status::Ok() : Status(code, "the message");
    const grpc::Status carried = ToGrpc(status);
    EXPECT_EQ(carried.ok(), status.ok());
    EXPECT_EQ(FromGrpc(carried, StatusCodeName(code)).ToString(), status.ToString());
  }
}

TEST(RpcStatus, GrpcsOwnErrorsHaveTheNearestCode) {
  const auto code = [](grpc::StatusCode grpc_code) {
    return FromGrpc(grpc::Status(grpc_code, "m"), "").code();
  };
  EXPECT_EQ(code(grpc::StatusCode::UNAVAILABLE), StatusCode::kIOError);
  EXPECT_EQ(code(grpc::StatusCode::DEADLINE_EXCEEDED), StatusCode::kTimedOut);
  EXPECT_EQ(code(grpc::StatusCode::RESOURCE_EXHAUSTED), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(grpc::StatusCode::UNAUTHENTICATED), StatusCode::kUnauthenticated);
  EXPECT_EQ(code(grpc::StatusCode::UNIMPLEMENTED), StatusCode::kNotSupported);
  EXPECT_EQ(code(grpc::StatusCode::UNKNOWN), StatusCode::kIOError);
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::NOT_FOUND, "m"), "Nonsense").code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace wq
