// A server of small methods, and clients of it in this process. The methods use the messages of
// wq.v1, but have no queue: Add counts the keys, Work the answers of each message, Counts waits
// at a gate.
#pragma once

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "server/api/method.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/rpc_status.h"
#include "wq/v1/queue.grpc.pb.h"
#include "wq/v1/work.grpc.pb.h"

namespace wq {

// Blocks callers of Pass until Open.
class Gate {
 public:
  void Pass() {
    const MutexLock lock(mu_);
    ++waiting_;
    changed_.NotifyAll();
    while (!open_) {
      changed_.Wait(mu_);
    }
  }
  void Open() {
    const MutexLock lock(mu_);
    open_ = true;
    changed_.NotifyAll();
  }
  void AwaitWaiting(int count) {
    const MutexLock lock(mu_);
    while (waiting_ < count) {
      changed_.Wait(mu_);
    }
  }
  int waited() {
    const MutexLock lock(mu_);
    return waiting_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int waiting_ WQ_GUARDED_BY(mu_) = 0;
  bool open_ WQ_GUARDED_BY(mu_) = false;
};

// What the streams of a test have seen.
class Census {
 public:
  void Count(int opened, int received, int closed) {
    const MutexLock lock(mu_);
    opened_ += opened;
    received_ += received;
    closed_ += closed;
    changed_.NotifyAll();
  }
  void AwaitReceived(int count) { Await(&received_, count); }
  void AwaitOpened(int count) { Await(&opened_, count); }
  void AwaitClosed(int count) { Await(&closed_, count); }
  int opened() { return Get(&opened_); }
  int closed() { return Get(&closed_); }
  int received() { return Get(&received_); }

 private:
  void Await(const int* count, int least) WQ_UNCHECKED {
    const MutexLock lock(mu_);
    while (*count < least) {
      changed_.Wait(mu_);
    }
  }
  int Get(const int* count) WQ_UNCHECKED {
    const MutexLock lock(mu_);
    return *count;
  }

  Mutex mu_;
  CondVar changed_;
  int opened_ WQ_GUARDED_BY(mu_) = 0;
  int received_ WQ_GUARDED_BY(mu_) = 0;
  int closed_ WQ_GUARDED_BY(mu_) = 0;
};

// Answers each WorkRequest with a result for each of its answers, at most `limit` messages ahead of
// the client. The queue "bad" is an error, "gate" waits at the gate, and the response to "big" has
// 100 kB. Checks the carrier's order of calls.
class EchoStream : public Stream {
 public:
  EchoStream(StreamCarrier* carrier, Census* census, Gate* gate, size_t limit)
      : carrier_(carrier), census_(census), gate_(gate), limit_(limit) {
    census_->Count(1, 0, 0);
  }
  ~EchoStream() override { EXPECT_TRUE(closed_); }

  Status Receive(const Message& request) override {
    EXPECT_FALSE(receiving_.exchange(true)) << "two calls of Receive at once";
    EXPECT_FALSE(closed_);
    const auto& work = static_cast<const v1::WorkRequest&>(request);
    const std::string& queue = work.hello().queue();
    if (queue == "bad") {
      receiving_ = false;
      return Status::NotFound("there is no queue bad");
    }
    if (queue == "gate") {
      gate_->Pass();
    }
    v1::WorkResponse response;
    for (int i = 0; i < work.answers_size(); ++i) {
      response.add_results();
    }
    if (queue == "big") {
      response.mutable_welcome()->set_session(std::string(100'000, 'x'));
    }
    {
      const MutexLock lock(mu_);
      EXPECT_FALSE(received_all_);
      responses_.push_back(std::move(response));
      EXPECT_LE(responses_.size(), limit_) << "a message was read though WantsMore was false";
    }
    receiving_ = false;
    carrier_->Wake();
    census_->Count(0, 1, 0);
    return Status::Ok();
  }
  void ReceivedAll() override {
    EXPECT_FALSE(receiving_);
    EXPECT_FALSE(closed_);
    {
      const MutexLock lock(mu_);
      EXPECT_FALSE(received_all_) << "two calls of ReceivedAll";
      received_all_ = true;
    }
    carrier_->Wake();
  }
  bool WantsMore() const override {
    const MutexLock lock(mu_);
    EXPECT_FALSE(closed_);
    return responses_.size() < limit_;
  }
  Next Take(Message* response, Status* /*end*/) override {
    EXPECT_FALSE(taking_.exchange(true)) << "two calls of Take at once";
    EXPECT_FALSE(closed_);
    Next next = Next::kNothing;
    {
      const MutexLock lock(mu_);
      if (!responses_.empty()) {
        static_cast<v1::WorkResponse*>(response)->Swap(&responses_.front());
        responses_.pop_front();
        next = Next::kMessage;
      } else if (received_all_) {
        next = Next::kEnd;
      }
    }
    taking_ = false;
    return next;
  }
  void Close() override {
    EXPECT_FALSE(receiving_);
    EXPECT_FALSE(taking_);
    EXPECT_FALSE(closed_.exchange(true)) << "two calls of Close";
    census_->Count(0, 0, 1);
  }

 private:
  StreamCarrier* const carrier_;
  Census* const census_;
  Gate* const gate_;
  const size_t limit_;
  std::atomic<bool> receiving_ = false;
  std::atomic<bool> taking_ = false;
  std::atomic<bool> closed_ = false;
  mutable Mutex mu_;
  std::deque<v1::WorkResponse> responses_ WQ_GUARDED_BY(mu_);
  bool received_all_ WQ_GUARDED_BY(mu_) = false;
};

inline Status EchoAdd(const v1::AddRequest& request, v1::AddResponse* response) {
  if (request.queue() == "bad") {
    return Status::NotProcessing("key \"a\" is not processing");
  }
  response->set_added(static_cast<uint64_t>(request.keys_size()));
  return Status::Ok();
}

// wq's code of a call that has ended; empty: it was Ok.
inline std::string CodeOf(const grpc::ClientContext& context) {
  const auto it = context.GetServerTrailingMetadata().find(kCodeMetadata);
  return it == context.GetServerTrailingMetadata().end()
             ? ""
             : std::string(it->second.data(), it->second.size());
}

class RpcFixture {
 public:
  RpcFixture() {
    methods.Add(Unary<v1::AddRequest, v1::AddResponse>(
        "wq.v1.Queue", "Add", EchoAdd, [](const Message& request) {
          return static_cast<const v1::AddRequest&>(request).queue() == "disk";
        }));
    methods.Add(Unary<v1::CountsRequest, v1::QueueCounts>(
        "wq.v1.Queue", "Counts",
        [this](const v1::CountsRequest&, v1::QueueCounts*) {
          gate.Pass();
          return Status::Ok();
        },
        Waits));
    Method work = MakeMethod("wq.v1.Work", "Work", v1::WorkRequest::default_instance(),
                             v1::WorkResponse::default_instance());
    work.open = [this](const Caller& caller, StreamCarrier* carrier) {
      {
        const MutexLock lock(mu_);
        last_peer_ = caller.peer;
      }
      return std::make_unique<EchoStream>(carrier, &census, &gate, responses_ahead);
    };
    work.may_wait = [](const Message& request) {
      return static_cast<const v1::WorkRequest&>(request).hello().create();
    };
    methods.Add(std::move(work));
  }
  ~RpcFixture() {
    gate.Open();
    server.reset();
    EXPECT_EQ(census.opened(), census.closed());
  }

  void Open(RpcServer::Options options = {}) {
    options.methods = &methods;
    const Status s = RpcServer::Open(std::move(options), &server);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  // The client's end of a new connection.
  int ConnectFd() const {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    server->Handle(ends[0], false);
    last_client_fd_ = ends[1];
    return ends[1];
  }
  int last_client_fd() const { return last_client_fd_; }
  std::shared_ptr<grpc::Channel> Connect() const {
    const int fd = ConnectFd();
    EXPECT_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomInsecureChannelFromFd("wq", fd, arguments);
  }
  std::unique_ptr<v1::Queue::Stub> Stub() const { return v1::Queue::NewStub(Connect()); }
  std::unique_ptr<v1::Work::Stub> WorkStub() const { return v1::Work::NewStub(Connect()); }

  std::string last_peer() {
    const MutexLock lock(mu_);
    return last_peer_;
  }

  MethodTable methods;
  Gate gate;
  Census census;
  size_t responses_ahead = 4;
  std::unique_ptr<RpcServer> server;

 private:
  mutable std::atomic<int> last_client_fd_ = -1;
  Mutex mu_;
  std::string last_peer_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq
