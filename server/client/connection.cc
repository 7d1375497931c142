#include "server/client/connection.h"

#include <unistd.h>

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/support/channel_arguments.h>
#include <poll.h>

#include <utility>

#include "server/rpc/rpc_status.h"

namespace wq {
namespace {

bool IsOpen(int fd) {
  pollfd state = {fd, POLLRDHUP, 0};
  return fd >= 0 && poll(&state, 1, 0) == 0;
}

}  // namespace

Status Connection::EnsureConnected() const {
  if (channel_ != nullptr && IsOpen(socket_.get())) {
    return {};
  }
  channel_ = nullptr;
  stubs_ = nullptr;
  FileDescriptor connection(-1);
  if (Status s = ConnectToFile(file_, &connection); !s.ok()) {
    return s;
  }
  socket_ = FileDescriptor(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!socket_.valid()) {
    return Status::IOError("no descriptor is left for the connection to " + file_.path);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // The owner's answers are as long as they have to be.
  channel_ = grpc::CreateCustomInsecureChannelFromFd("localhost", connection.Release(), arguments);
  stubs_ = std::make_shared<const Stubs>(v1::Queue::NewStub(channel_), v1::Admin::NewStub(channel_),
                                         v1::Browse::NewStub(channel_));
  return {};
}

Status Connection::Channel(std::shared_ptr<grpc::Channel>* channel) const {
  const MutexLock lock(mu_);
  Status s = EnsureConnected();
  *channel = channel_;
  return s;
}

Status Connection::GetStubs(std::shared_ptr<const Stubs>* stubs) const {
  const MutexLock lock(mu_);
  Status s = EnsureConnected();
  *stubs = stubs_;
  return s;
}

void Connection::AddPid(grpc::ClientContext* context) {
  context->AddMetadata(kPidMetadata, std::to_string(getpid()));
}

Status Connection::FromGrpc(const grpc::Status& status, const grpc::ClientContext& context) const {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto code = metadata.find(kCodeMetadata);
  Status s = code == metadata.end()
                 ? wq::FromGrpc(status, {})
                 : wq::FromGrpc(status, {code->second.data(), code->second.size()});
  if (code == metadata.end() &&
      (s.code() == StatusCode::kIOError || s.code() == StatusCode::kTimedOut)) {
    return Status::IOError("no answer on " + file_.path +
                           ": the process that owns the store has ended, or does not respond");
  }
  return s;
}

}  // namespace wq
