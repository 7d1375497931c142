// Call: one call of a client, from its arrival to its end. Call::Accept waits for the next one;
// each call deletes itself.
//
// gRPC reports each finished operation of a call as a tag on the completion queue; a thread of the
// server passes it to Tag::Run. Operations of a call:
//   arrived  the client has called
//   read     its next message is here, or it sends no more
//   written  a message was passed to the connection
//   finished the status was passed to the connection
//   ended    gRPC has no further use for the call: it is finished, or the client is gone
// `refs_` counts the operations that are not reported, and the jobs of other threads. Whatever
// happens, a call that has arrived is finished once; the last reference closes its stream and
// deletes the call. In a cancelled call gRPC reports the outstanding operations as failed.
//
// Threading: thread-safe; Take and WantsMore of the stream are called without `mu_`, because the
// stream may call Wake under its own locks.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "server/api/method.h"
#include "server/net/call_guard.h"
#include "server/net/executor.h"

namespace wq {

class Call;

struct Tag {
  void (*run)(void* object, bool ok);
  void* object;
  void Run(bool ok) const { run(object, ok); }
};

// What the calls of a server share.
class CallHost {
 public:
  CallHost(const MethodTable& methods, CallGuard::Asked guard,
           std::function<void(std::string_view)> accepted, int max_waiting_calls,
           size_t max_waiting_bytes)
      : methods(methods),
        guard(std::move(guard)),
        accepted(std::move(accepted)),
        readings(max_waiting_calls, max_waiting_bytes),
        changes(max_waiting_calls, max_waiting_bytes) {}

  const MethodTable& methods;
  const CallGuard::Asked guard;
  const std::function<void(std::string_view peer)> accepted;
  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  // Calls that change nothing, and all others: many that read shut out none that changes.
  Executor readings;
  Executor changes;

  // A thread of the completion queue: reports operations until the queue is shut down.
  void Serve() const;

  // Calls Call::RunWoken on a thread of the completion queue.
  void Post(Call* call);

  // Counts the calls that have arrived. AddCall: false if the call is to be refused, because
  // EndStreams was called.
  bool AddCall();
  void RemoveCall();
  // Blocks until there is no call, or until the deadline if there is one.
  void WaitForCalls(std::optional<std::chrono::steady_clock::time_point> deadline = {});

  // Streams that EndStreams ends. AddStream: false if it was called before.
  bool AddStream(Call* call);
  void RemoveStream(Call* call);
  void EndStreams();

 private:
  void RunWoken();

  Mutex mu_;
  bool ending_ WQ_GUARDED_BY(mu_) = false;
  int calls_ WQ_GUARDED_BY(mu_) = 0;
  CondVar no_calls_;
  std::unordered_set<Call*> streams_ WQ_GUARDED_BY(mu_);
  std::vector<Call*> woken_ WQ_GUARDED_BY(mu_);
  // Reports `woken_tag_` while woken_ is not empty. It is not set again before that is reported.
  grpc::Alarm alarm_;
  bool alarm_is_set_ WQ_GUARDED_BY(mu_) = false;
  const Tag woken_tag_{[](void* host, bool) { static_cast<CallHost*>(host)->RunWoken(); }, this};
};

class Call final : public StreamCarrier {
 public:
  ~Call() override = default;  // Only Unref and OnArrived delete a call.
  // Waits for the next call, without blocking.
  static void Accept(CallHost* host) { new Call(host); }

  void Wake() override;
  void RunWoken();
  // Ends a stream with this status, unless it ends already.
  void End(Status status);
  // Ends a stream with ServerCloses(), after what it has to send now.
  void EndWhenSent();
  void AddRef();
  bool AddRefUnlessGone();  // False: the last reference was dropped.
  void Unref();

 private:
  explicit Call(CallHost* host);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void Handle(size_t bytes);  // The message in request_, which had so many bytes.
  void Refuse(const Status& status);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnEnded(bool ok);

  template <void (Call::*on)(bool)>
  static void Dispatch(void* call, bool ok) {
    (static_cast<Call*>(call)->*on)(ok);
  }

  bool IsCancelled() WQ_EXCLUDES(mu_);
  CallGuard::Answer AskGuard() const;
  Caller GetCaller() const;
  // Of a call without a stream.
  void Reply();
  void Finish(const grpc::Status& status, StatusCode code);
  // Of a stream.
  void OpenStream();
  void ReadIfWanted();
  bool MayRead() const WQ_REQUIRES(mu_);
  void Receive();
  void Pump();  // Takes and writes messages while it can.
  bool BeginTake();
  void FinishStream();  // With end_, once nothing is taken or written.

  CallHost* const host_;
  const Tag arrived_{Dispatch<&Call::OnArrived>, this};
  const Tag read_{Dispatch<&Call::OnRead>, this};
  const Tag written_{Dispatch<&Call::OnWritten>, this};
  const Tag finished_{Dispatch<&Call::OnFinished>, this};
  const Tag ended_{Dispatch<&Call::OnEnded>, this};

  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter rpc_{&context_};
  const Method* method_ = nullptr;
  std::string_view role_;  // See Caller.
  std::string token_;
  std::unique_ptr<Stream> stream_;
  grpc::ByteBuffer received_;         // Of the read, which is one at a time.
  std::unique_ptr<Message> request_;  // As received_.

  std::atomic<int> refs_ = 2;  // Of arrived_ and ended_, which two threads may run at once.

  Mutex mu_;
  bool cancelled_ WQ_GUARDED_BY(mu_) = false;
  bool open_ WQ_GUARDED_BY(mu_) = false;          // stream_ is set.
  bool reading_ WQ_GUARDED_BY(mu_) = false;       // Until the message is parsed.
  bool receiving_ WQ_GUARDED_BY(mu_) = false;     // Stream::Receive is called.
  bool received_all_ WQ_GUARDED_BY(mu_) = false;  // The client sends no more.
  bool taking_ WQ_GUARDED_BY(mu_) = false;        // Stream::Take is called.
  bool take_again_ WQ_GUARDED_BY(mu_) = false;    // Wake was called during that.
  bool writing_ WQ_GUARDED_BY(mu_) = false;
  bool woken_ WQ_GUARDED_BY(mu_) = false;    // RunWoken will be called.
  bool closing_ WQ_GUARDED_BY(mu_) = false;  // EndWhenSent was called.
  std::optional<Status> end_ WQ_GUARDED_BY(mu_);
  bool finishing_ WQ_GUARDED_BY(mu_) = false;  // Nothing is written after it.
};

}  // namespace wq
