#include "server/rpc/call.h"

#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/rpc/rpc_status.h"
#include "wq/internal/queue_calls.h"

namespace wq {
namespace {

// Calls that were woken on this thread of a completion queue. They run when the thread has handled
// the present event, which is cheaper than an alarm. nullptr: another thread.
thread_local std::vector<Call*>* woken_here = nullptr;

Status Parse(grpc::ByteBuffer* bytes, Message* message) {
  const grpc::Status status = grpc::SerializationTraits<Message>::Deserialize(bytes, message);
  bytes->Clear();
  return status.ok() ? Status::Ok()
                     : Status::InvalidArgument("the bytes received are no " +
                                               std::string(message->GetTypeName()));
}

grpc::ByteBuffer Serialize(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  const grpc::Status status = grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  WQ_CHECK(status.ok(), "a message cannot be serialized");
  return bytes;
}

std::string_view Metadata(const grpc::ServerContext& context, const char* name) {
  const auto it = context.client_metadata().find(name);
  return it == context.client_metadata().end()
             ? std::string_view()
             : std::string_view(it->second.data(), it->second.size());
}

Status Cancelled() { return Status::ShuttingDown("the client has cancelled the call"); }

}  // namespace

// --- CallHost ---

void CallHost::Serve() const {
  std::vector<Call*> woken;
  std::vector<Call*> running;
  woken_here = &woken;
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    static_cast<const Tag*>(tag)->Run(ok);
    while (!woken.empty()) {
      running.swap(woken);
      for (Call* call : running) {
        call->RunWoken();
      }
      running.clear();
    }
  }
  woken_here = nullptr;
}

void CallHost::Post(Call* call) {
  if (woken_here != nullptr) {
    woken_here->push_back(call);
    return;
  }
  {
    const MutexLock lock(mu_);
    woken_.push_back(call);
    if (alarm_is_set_) {
      return;
    }
    alarm_is_set_ = true;
  }
  alarm_.Set(queue.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), const_cast<Tag*>(&woken_tag_));
}

void CallHost::RunWoken() {
  std::vector<Call*> woken;
  {
    const MutexLock lock(mu_);
    alarm_is_set_ = false;
    woken.swap(woken_);
  }
  for (Call* call : woken) {
    call->RunWoken();
  }
}

bool CallHost::AddCall() {
  const MutexLock lock(mu_);
  ++calls_;
  return !ending_;
}

void CallHost::RemoveCall() {
  const MutexLock lock(mu_);
  if (--calls_ == 0) {
    no_calls_.NotifyAll();
  }
}

void CallHost::WaitForCalls(std::optional<std::chrono::steady_clock::time_point> deadline) {
  const MutexLock lock(mu_);
  while (calls_ > 0) {
    if (!deadline.has_value()) {
      no_calls_.Wait(mu_);
    } else if (!no_calls_.WaitUntil(mu_, *deadline)) {
      return;
    }
  }
}

bool CallHost::AddStream(Call* call) {
  const MutexLock lock(mu_);
  if (ending_) {
    return false;
  }
  streams_.insert(call);
  return true;
}

void CallHost::RemoveStream(Call* call) {
  const MutexLock lock(mu_);
  streams_.erase(call);
}

void CallHost::EndStreams() {
  std::vector<Call*> streams;
  {
    const MutexLock lock(mu_);
    ending_ = true;
    std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(streams),
                 [](Call* call) { return call->AddRefUnlessGone(); });
  }
  for (Call* call : streams) {
    call->EndWhenSent();
    call->Unref();
  }
}

// --- Call ---

Call::Call(CallHost* host) : host_(host) {
  context_.AsyncNotifyWhenDone(const_cast<Tag*>(&ended_));
  host_->service.RequestCall(&context_, &rpc_, host_->queue.get(), host_->queue.get(),
                             const_cast<Tag*>(&arrived_));
}

void Call::AddRef() { refs_.fetch_add(1, std::memory_order_relaxed); }

bool Call::AddRefUnlessGone() {
  int refs = refs_.load(std::memory_order_relaxed);
  while (refs > 0 && !refs_.compare_exchange_weak(refs, refs + 1, std::memory_order_relaxed)) {
  }
  return refs > 0;
}

void Call::Unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) > 1) {
    return;
  }
  if (stream_ != nullptr) {
    host_->RemoveStream(this);
    stream_->Close();
  }
  CallHost* const host = host_;
  delete this;
  host->RemoveCall();
}

void Call::OnArrived(bool ok) {
  if (!ok) {  // The server is shut down. gRPC does not report ended_ in this case.
    delete this;
    return;
  }
  const bool closing = !host_->AddCall();
  Accept(host_);
  method_ = host_->methods.Find(context_.method());
  const CallGuard::Answer answer = AskGuard();
  role_ = RoleName(answer.role);
  token_ = answer.token_file;
  if (closing) {
    Finish(ToGrpc(ServerCloses()), ServerCloses().code());
  } else if (answer.verdict != CallGuard::Verdict::kPass) {
    const auto code = answer.verdict == CallGuard::Verdict::kUnknown
                          ? grpc::StatusCode::UNAUTHENTICATED
                          : grpc::StatusCode::PERMISSION_DENIED;
    Finish(grpc::Status(code, answer.why.message()), answer.why.code());
  } else if (method_ == nullptr) {
    const Status unknown = Status::NotSupported("there is no method " + context_.method());
    Finish(ToGrpc(unknown), unknown.code());
  } else {
    if (host_->accepted != nullptr) {
      if (const std::string peer = context_.peer(); !peer.starts_with("unix")) {
        host_->accepted(peer);
      }
    }
    if (method_->open != nullptr) {
      OpenStream();
    } else {
      AddRef();
      rpc_.Read(&received_, const_cast<Tag*>(&read_));
    }
  }
  Unref();
}

CallGuard::Answer Call::AskGuard() const {
  if (host_->guard == nullptr) {
    return {};
  }
  const std::string peer = context_.peer();
  const auto client =
      peer.starts_with("unix") ? CallGuard::Client::kControlSocket : CallGuard::Client::kTcp;
  return host_->guard(
      {client, Metadata(context_, "authorization"), method_ != nullptr && method_->changes, peer});
}

Caller Call::GetCaller() const {
  std::string peer = context_.peer();
  if (peer.starts_with("unix")) {  // gRPC does not pass the process on.
    const std::string_view pid = Metadata(context_, kPidMetadata);
    const bool valid = !pid.empty() && pid.size() <= 10 &&
                       pid.find_first_not_of("0123456789") == std::string_view::npos;
    peer = valid ? "unix:" + std::string(pid) : "unix";
  }
  return {.peer = std::move(peer), .role = role_, .token = token_};
}

void Call::OnFinished(bool) { Unref(); }

void Call::OnEnded(bool) {
  if (context_.IsCancelled()) {
    bool open = false;
    {
      const MutexLock lock(mu_);
      cancelled_ = true;
      open = open_;
    }
    if (open) {
      End(Cancelled());
    }
  }
  Unref();
}

void Call::OnRead(bool ok) {
  if (!ok && stream_ != nullptr && method_->client_streams) {
    {
      const MutexLock lock(mu_);
      reading_ = false;
      received_all_ = true;
    }
    stream_->ReceivedAll();
    Unref();
    return;
  }
  {
    // After the Receive of the message before, on another thread: gRPC keeps that order, too, but a
    // thread sanitizer does not see it.
    const MutexLock lock(mu_);
    request_.reset(method_->request->New());
  }
  const size_t bytes = ok ? received_.Length() : 0;
  const Status status = ok ? Parse(&received_, request_.get())
                           : Status::InvalidArgument("the client has sent no message");
  if (status.ok()) {
    Handle(bytes);
  } else {
    Refuse(status);
  }
}

void Call::Refuse(const Status& status) {
  if (stream_ != nullptr) {
    stream_->Refuse(status);
    End(status);
  } else {
    Finish(ToGrpc(status), status.code());
  }
  Unref();
}

void Call::Handle(size_t bytes) {
  const auto run = [this] {
    if (stream_ != nullptr) {
      Receive();
    } else {
      Reply();
    }
    Unref();
  };
  const bool may_wait = (method_->may_wait != nullptr && method_->may_wait(*request_)) ||
                        (stream_ != nullptr && stream_->MayWait(*request_));
  Executor& executor = method_->changes ? host_->changes : host_->readings;
  if (!may_wait) {
    run();
  } else if (!executor.Run(bytes, run)) {
    Refuse(Status::TimedOut("too many calls wait for the disk"));
  }
}

bool Call::IsCancelled() {
  const MutexLock lock(mu_);
  return cancelled_;
}

void Call::Reply() {
  if (IsCancelled()) {  // While it waited for a thread.
    Finish(grpc::Status::CANCELLED, StatusCode::kOk);
    return;
  }
  const std::unique_ptr<Message> response(method_->response->New());
  Caller caller = GetCaller();
  caller.gone = [this] { return IsCancelled(); };
  const Status status = method_->call(caller, *request_, response.get());
  if (!IsApplied(status)) {
    Finish(ToGrpc(status), status.code());
    return;
  }
  if (!status.ok()) {  // The response says what was applied in memory.
    context_.AddTrailingMetadata(kCodeMetadata, std::string(StatusCodeName(status.code())));
  }
  AddRef();
  rpc_.WriteAndFinish(Serialize(*response), grpc::WriteOptions(),
                      status.ok() ? grpc::Status::OK : ToGrpc(status),
                      const_cast<Tag*>(&finished_));
}

void Call::Finish(const grpc::Status& status, StatusCode code) {
  if (code != StatusCode::kOk) {
    context_.AddTrailingMetadata(kCodeMetadata, std::string(StatusCodeName(code)));
  }
  AddRef();
  rpc_.Finish(status, const_cast<Tag*>(&finished_));
}

// --- Streams ---

void Call::OpenStream() {
  stream_ = method_->open(GetCaller(), this);
  bool cancelled = false;
  {
    const MutexLock lock(mu_);
    open_ = true;
    cancelled = cancelled_;
  }
  if (cancelled) {
    End(Cancelled());
  } else if (!host_->AddStream(this)) {
    End(ServerCloses());
  } else {
    ReadIfWanted();
    Pump();
  }
}

void Call::EndWhenSent() {
  {
    const MutexLock lock(mu_);
    closing_ = true;
  }
  Pump();
}

bool Call::MayRead() const {
  return !reading_ && !receiving_ && !received_all_ && !closing_ && !end_.has_value();
}

void Call::ReadIfWanted() {
  {
    const MutexLock lock(mu_);
    if (!MayRead()) {
      return;
    }
  }
  if (!stream_->WantsMore()) {
    return;
  }
  {
    const MutexLock lock(mu_);
    if (!MayRead()) {
      return;
    }
    reading_ = true;
    AddRef();
  }
  rpc_.Read(&received_, const_cast<Tag*>(&read_));
}

void Call::Receive() {
  {
    const MutexLock lock(mu_);
    if (end_.has_value()) {
      return;
    }
    reading_ = false;
    receiving_ = true;
  }
  Status status = stream_->Receive(*request_);
  request_.reset();
  if (status.ok() && !method_->client_streams) {
    stream_->ReceivedAll();
  }
  {
    // Before WantsMore is called: a Take that makes it true either is seen by it here, or sees
    // that nothing is received and calls it itself.
    const MutexLock lock(mu_);
    receiving_ = false;
    received_all_ = !method_->client_streams;
  }
  if (status.ok()) {
    ReadIfWanted();
  } else {
    End(std::move(status));
  }
}

void Call::End(Status status) {
  {
    const MutexLock lock(mu_);
    if (!end_.has_value()) {
      end_ = std::move(status);
    }
  }
  FinishStream();
}

void Call::FinishStream() {
  Status status;
  {
    const MutexLock lock(mu_);
    if (taking_ || writing_ || finishing_) {
      return;  // Called again after these, or called before.
    }
    finishing_ = true;
    status = *end_;
  }
  Finish(ToGrpc(status), status.code());
}

bool Call::BeginTake() {
  const MutexLock lock(mu_);
  take_again_ = taking_;
  if (taking_ || writing_ || end_.has_value()) {
    return false;
  }
  taking_ = true;
  return true;
}

void Call::Pump() {
  while (BeginTake()) {
    const std::unique_ptr<Message> response(method_->response->New());
    Status end;
    const Stream::Next next = stream_->Take(response.get(), &end);
    bool ends = false;
    {
      const MutexLock lock(mu_);
      taking_ = false;
      if (next == Stream::Next::kEnd && !end_.has_value()) {
        end_ = std::move(end);
      }
      ends = end_.has_value();
      if (!ends && next == Stream::Next::kNothing) {
        if (take_again_) {
          continue;
        }
        if (!closing_) {
          return;
        }
        end_ = ServerCloses();
        ends = true;
      }
      if (!ends) {
        writing_ = true;
        AddRef();
      }
    }
    if (ends) {
      FinishStream();
    } else {
      rpc_.Write(Serialize(*response), const_cast<Tag*>(&written_));
      ReadIfWanted();
    }
    return;
  }
}

void Call::OnWritten(bool ok) {
  bool ends = false;
  {
    const MutexLock lock(mu_);
    writing_ = false;
    if (!ok && !end_.has_value()) {
      end_ = Cancelled();
    }
    ends = end_.has_value();
  }
  if (ends) {
    FinishStream();
  } else {
    Pump();
  }
  Unref();
}

void Call::Wake() {
  {
    const MutexLock lock(mu_);
    if (taking_) {
      take_again_ = true;
    }
    if (!open_ || taking_ || woken_ || writing_ || end_.has_value()) {
      return;
    }
    woken_ = true;
    AddRef();
  }
  host_->Post(this);
}

void Call::RunWoken() {
  {
    const MutexLock lock(mu_);
    woken_ = false;
  }
  Pump();
  Unref();
}

}  // namespace wq
