// LiveWorker::Impl: a stream of Work.Work, with a thread that reads and one that writes.
//
// The writer sends what has accumulated since its last message, so answers share messages without a
// wait. When nothing was sent for a third of the silence limit and a key is held, it sends an empty
// message.
//
// Lock: mu_. Under it the stream is not called.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "server/client/connection.h"
#include "wq/live_worker.h"
#include "wq/v1/work.grpc.pb.h"

namespace wq {

struct LiveWorker::Impl {
 public:
  static Status Open(std::shared_ptr<const Connection> connection, std::string_view queue,
                     const LiveWorkerOptions& options, std::unique_ptr<LiveWorker>* worker);
  Impl(std::shared_ptr<const Connection> live_connection, const LiveWorkerOptions& worker_options)
      : connection(std::move(live_connection)), options(worker_options) {}
  ~Impl() { Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status Begin(std::string_view queue) WQ_EXCLUDES(mu);
  void Read();                   // The reading thread.
  void Write() WQ_EXCLUDES(mu);  // The writing thread.
  void Handle(v1::WorkResponse* response) WQ_EXCLUDES(mu);
  bool NextMessage(v1::WorkRequest* request) WQ_EXCLUDES(mu);  // Blocks. False: the last was sent.
  void DropLost() WQ_REQUIRES(mu);
  Status Take(bool wait, AssignedKey* key) WQ_EXCLUDES(mu);
  // The message to add to: the last one, unless it has many answers.
  v1::WorkRequest* Unsent() WQ_REQUIRES(mu);
  void GiveBackAll() WQ_REQUIRES(mu);
  void Enqueue(uint64_t token, const WorkAnswer& answer) WQ_REQUIRES(mu);
  void Stop() WQ_EXCLUDES(mu);
  void NotifyReady() const {
    if (options.on_ready != nullptr) {
      options.on_ready();
    }
  }

  // A call that waits for the server's answer about a token.
  struct Waiter {
    bool answered = false;
    Status status;
    AnswerOutcome outcome;
    bool added_again = false;
  };
  Status Wait(Waiter* waiter) WQ_REQUIRES(mu);

  const std::shared_ptr<const Connection> connection;
  const LiveWorkerOptions options;
  grpc::ClientContext context;
  std::unique_ptr<v1::Work::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkRequest, v1::WorkResponse>> stream;
  std::thread reader;
  std::thread writer;

  mutable Mutex mu;
  CondVar changed;
  bool welcomed WQ_GUARDED_BY(mu) = false;
  bool stopping WQ_GUARDED_BY(mu) = false;
  bool reading_ended WQ_GUARDED_BY(mu) = false;
  bool writing_ended WQ_GUARDED_BY(mu) = false;
  std::optional<Status> end WQ_GUARDED_BY(mu);
  // Of LimitWaits, and when that was called.
  std::optional<std::chrono::microseconds> wait_limit WQ_GUARDED_BY(mu);
  std::chrono::steady_clock::time_point limited_at WQ_GUARDED_BY(mu);
  std::chrono::microseconds silence_limit WQ_GUARDED_BY(mu){0};
  std::deque<AssignedKey> assigned WQ_GUARDED_BY(mu);
  std::unordered_map<uint64_t, bool> held WQ_GUARDED_BY(mu);  // Token, and whether it was lost.
  std::deque<v1::WorkRequest> unsent WQ_GUARDED_BY(mu);
  std::unordered_map<uint64_t, Waiter*> answers WQ_GUARDED_BY(mu);
  std::multimap<uint64_t, Waiter*> questions WQ_GUARDED_BY(mu);
};

}  // namespace wq
