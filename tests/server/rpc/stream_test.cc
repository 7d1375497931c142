// Streams: their order, back-pressure, every way to end, and the server's Close.
#include <algorithm>
#include <cstdlib>
#include <future>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/rpc/rpc_status.h"
#include "tests/server/rpc/rpc_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using EchoClient = grpc::ClientReaderWriter<v1::WorkRequest, v1::WorkResponse>;

v1::WorkRequest Answers(int count, bool wait = false, const std::string& queue = "pods") {
  v1::WorkRequest request;
  request.mutable_hello()->set_queue(queue);
  request.mutable_hello()->set_create(wait);
  for (int i = 0; i < count; ++i) {
    request.add_answers();
  }
  return request;
}

TEST(RpcStream, EachMessageIsAnsweredInOrder) {
  for (const int threads : {1, 4}) {
    RpcFixture f;
    f.Open({.threads = threads});
    const auto stub = f.WorkStub();
    grpc::ClientContext context;
    const auto stream = stub->Work(&context);
    std::thread writer([&] {
      for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(stream->Write(Answers(i % 7, i % 3 == 0)));
      }
      stream->WritesDone();
    });
    v1::WorkResponse response;
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(stream->Read(&response));
      ASSERT_EQ(response.results_size(), i % 7);
    }
    EXPECT_FALSE(stream->Read(&response));
    writer.join();
    EXPECT_TRUE(stream->Finish().ok());
    f.census.AwaitClosed(1);
    EXPECT_EQ(f.last_peer(), "unix");
  }
}

TEST(RpcStream, AClientNamesItsProcess) {
  RpcFixture f;
  f.Open();
  const auto stub = f.WorkStub();
  for (const auto& [pid, peer] : {std::pair("4711", "unix:4711"), std::pair("47x", "unix"),
                                  std::pair("12345678901", "unix")}) {
    grpc::ClientContext context;
    context.AddMetadata(kPidMetadata, pid);
    const auto stream = stub->Work(&context);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(f.last_peer(), peer);
  }
}

// A client on its own completion queue, because a blocking Write of a client that does not read
// would not return.
class AsyncEcho {
 public:
  explicit AsyncEcho(v1::Work::Stub* stub) : stream_(stub->PrepareAsyncWork(&context, &queue_)) {
    stream_->StartCall(Tag(1));
    EXPECT_EQ(Next(), 1);
  }
  ~AsyncEcho() {
    context.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  // False: the connection has not taken the message for some time, or not at all. On a slow machine
  // it may only be late: then a test has written less, and expects nothing that is not so.
  bool Write(const v1::WorkRequest& request) {
    stream_->Write(request, Tag(2));
    return Next(std::chrono::milliseconds(500)) == 2;
  }
  bool Read(v1::WorkResponse* response) {
    stream_->Read(response, Tag(3));
    for (;;) {
      switch (Next()) {
        case 3:
          return true;
        case 2:
          break;  // A write that was blocked.
        default:
          return false;
      }
    }
  }

  grpc::ClientContext context;

 private:
  static void* Tag(intptr_t tag) { return reinterpret_cast<void*>(tag); }
  // The next tag; -1 if it failed; 0 if there is none in time.
  int Next(std::chrono::milliseconds patience = support::kPatience) {
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + patience;
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) {
      return 0;
    }
    return ok ? static_cast<int>(reinterpret_cast<intptr_t>(tag)) : -1;
  }

  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::WorkRequest, v1::WorkResponse>> stream_;
};

v1::WorkRequest BigMessage() {
  v1::WorkRequest request = Answers(2, false, "big");
  request.mutable_hello()->set_name(std::string(100'000, 'x'));
  return request;
}

TEST(RpcStream, AClientThatDoesNotReadIsNotRead) {
  RpcFixture f;
  f.Open();
  const auto stub = f.WorkStub();
  AsyncEcho client(stub.get());
  int written = 0;
  while (written < 1000 && client.Write(BigMessage())) {
    ++written;
  }
  ASSERT_LT(written, 100) << "the server reads on";
  // Those that are answered, those that the stream permits, and what is in sockets and windows.
  EXPECT_LT(f.census.received(), 50);
  // When the client reads, all are answered.
  for (int i = 0; i < written + 1; ++i) {
    v1::WorkResponse response;
    ASSERT_TRUE(client.Read(&response)) << i;
    EXPECT_EQ(response.results_size(), 2);
  }
}

TEST(RpcStream, AClientThatDoesNotReadCanBeCutOff) {
  RpcFixture f;
  f.Open();
  const auto stub = f.WorkStub();
  {
    AsyncEcho client(stub.get());
    while (client.Write(BigMessage())) {
    }
  }
  f.census.AwaitClosed(1);
}

TEST(RpcStream, CloseEndsAStreamWhoseClientDoesNotRead) {
  RpcFixture f;
  f.Open();
  const auto stub = f.WorkStub();
  AsyncEcho client(stub.get());
  while (client.Write(BigMessage())) {
  }
  f.server->Close(std::chrono::milliseconds(50));
  EXPECT_EQ(f.census.closed(), 1);
}

// --- Cancellation ---

TEST(RpcStream, ACancelledStreamIsClosedAfterReceiveHasReturned) {
  RpcFixture f;
  f.Open();
  const auto stub = f.WorkStub();
  grpc::ClientContext context;
  const auto stream = stub->Work(&context);
  EXPECT_TRUE(stream->Write(Answers(1, true, "gate")));
  f.gate.AwaitWaiting(1);
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(f.census.closed(), 0);
  f.gate.Open();
  f.census.AwaitClosed(1);
}

TEST(RpcStream, AStreamIsClosedWhenItsConnectionBreaks) {
  RpcFixture f;
  f.Open();
  grpc::ClientContext context;
  auto channel = f.Connect();
  auto stub = v1::Work::NewStub(channel);
  auto stream = stub->Work(&context);
  EXPECT_TRUE(stream->Write(Answers(1)));
  f.census.AwaitReceived(1);
  shutdown(f.last_client_fd(), SHUT_RDWR);
  f.census.AwaitClosed(1);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Opens a stream and ends it in one of many ways.
void PlayStream(v1::Work::Stub* stub, std::mt19937* random) {
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(*random); };
  grpc::ClientContext context;
  if (below(8) == 0) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(below(20)));
  }
  if (below(8) == 0) {
    context.TryCancel();
  }
  const auto stream = stub->Work(&context);
  const int writes = below(10);
  int reads = 0;
  for (int i = 0; i < writes; ++i) {
    if (!stream->Write(Answers(below(3), below(2) == 0, below(40) == 0 ? "bad" : "pods"))) {
      break;
    }
    v1::WorkResponse response;
    while (reads <= i && below(3) > 0 && stream->Read(&response)) {
      ++reads;
    }
  }
  if (below(2) == 0) {
    context.TryCancel();
  } else {
    stream->WritesDone();
  }
  v1::WorkResponse response;
  while (stream->Read(&response)) {
  }
  (void)stream->Finish();
}

TEST(RpcStream, StreamsThatEndAtRandomAreAllClosed) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("WQ_SEED=" + std::to_string(seed));
  for (const int threads : {1, 3}) {
    RpcFixture f;
    f.Open({.threads = threads, .max_waiting_calls = 3});
    std::vector<std::thread> clients;
    for (uint32_t i = 0; i < 8; ++i) {
      clients.emplace_back([&f, seed, i] {
        std::mt19937 random(seed + i);
        const auto stub = f.WorkStub();
        for (int j = 0; j < 50; ++j) {
          PlayStream(stub.get(), &random);
        }
      });
    }
    for (std::thread& client : clients) {
      client.join();
    }
    f.census.AwaitClosed(f.census.opened());
  }
}

// --- Close ---

// A call that waits at the gate.
std::future<grpc::Status> CallCounts(v1::Queue::Stub* stub) {
  return std::async(std::launch::async, [stub] {
    grpc::ClientContext context;
    v1::QueueCounts response;
    return stub->Counts(&context, v1::CountsRequest(), &response);
  });
}

TEST(RpcClose, StreamsEndWithItsStatus) {
  RpcFixture f;
  f.Open();
  const auto stub = f.WorkStub();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<EchoClient>> streams;
  for (int i = 0; i < 10; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub->Work(contexts.back().get()));
  }
  f.census.AwaitOpened(10);
  f.server->Close(support::kPatience);
  EXPECT_EQ(f.census.closed(), 10);
  for (size_t i = 0; i < streams.size(); ++i) {
    const grpc::Status status = streams[i]->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(FromGrpc(status, CodeOf(*contexts[i])).ToString(), ServerCloses().ToString());
  }
}

TEST(RpcClose, RunningCallsReturn) {
  RpcFixture f;
  f.Open();
  const auto stub = f.Stub();
  std::future<grpc::Status> call = CallCounts(stub.get());
  grpc::ClientContext context;
  const auto workers = f.WorkStub();
  const auto stream = workers->Work(&context);
  f.gate.AwaitWaiting(1);
  f.census.AwaitOpened(1);
  auto closing = std::async(std::launch::async, [&] { f.server->Close(support::kPatience); });
  f.census.AwaitClosed(1);  // Close has begun.
  f.gate.Open();
  EXPECT_TRUE(call.get().ok());
  closing.get();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(RpcClose, CallsThatDoNotReturnInTimeAreCancelled) {
  RpcFixture f;
  f.Open();
  const auto stub = f.Stub();
  std::future<grpc::Status> call = CallCounts(stub.get());
  f.gate.AwaitWaiting(1);
  auto closing = std::async(std::launch::async, [&] { f.server->Close({}); });
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::UNAVAILABLE);
  f.gate.Open();  // Close waits for the method itself.
  closing.get();
}

TEST(RpcClose, LaterConnectionsAreClosed) {
  RpcFixture f;
  f.Open();
  f.server->Close({});
  f.server->Close({});
  const int fd = f.ConnectFd();
  char byte = 0;
  EXPECT_EQ(read(fd, &byte, 1), 0);
  close(fd);
}

}  // namespace
}  // namespace wq
