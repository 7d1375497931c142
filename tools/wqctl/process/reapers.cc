#include "tools/wqctl/process/reapers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "tools/wqctl/process/descriptor.h"
#include "tools/wqctl/process/reaper_process.h"
#include "tools/wqctl/process/spawn_plan.h"

namespace wqctl {
namespace {

void CloseOnce(int* fd) {
  if (*fd >= 0) close(std::exchange(*fd, -1));
}

// Takes a message that has arrived. 0, or EAGAIN: none has.
template <typename Message>
int TakeMessage(int channel, Message* message) {
  return recv(channel, message, sizeof *message, MSG_DONTWAIT) == sizeof *message ? 0 : EAGAIN;
}

// Waits for a message. ESRCH: the process of `pid_fd` has ended without it: its end of the channel
// is open nevertheless, in our table.
template <typename Message>
int AwaitMessage(int channel, int pid_fd, Message* message) {
  std::array<pollfd, 2> fds = {pollfd{channel, POLLIN, 0}, pollfd{pid_fd, POLLIN, 0}};
  while (TakeMessage(channel, message) != 0) {
    if (fds[1].revents != 0) return ESRCH;
    poll(fds.data(), fds.size(), -1);
  }
  return 0;
}

}  // namespace

ReaperHandle::~ReaperHandle() {
  Hangup();
  close(reapers_end_);
  CloseOnce(&pid_fd_);
}

// An idle reaper ends then.
void ReaperHandle::Hangup() { CloseOnce(&channel_); }

bool ReaperHandle::Send(ReaperRequest::Kind kind, int fd) const {
  const ReaperRequest request{.kind = kind, .fd = fd};
  return send(channel_, &request, sizeof request, MSG_NOSIGNAL) == sizeof request;
}

int ReaperHandle::Begin(const SpawnRequest& request) {
  const Descriptor plan(memfd_create("wqctl command", MFD_CLOEXEC));
  if (plan.get() < 0) return errno;
  const std::string text = EncodePlan(request);
  const ssize_t written = write(plan.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) return written < 0 ? errno : ENOMEM;
  if (!Send(ReaperRequest::Kind::kRun, plan.get())) return errno;
  ReaperAnswer answer;
  ended_ = AwaitMessage(channel_, pid_fd_, &answer) != 0;
  if (!ended_ && (answer.value == EAGAIN || answer.value == ENOMEM)) {
    // Idle, it would keep the place of a process that others lack for their commands.
    Hangup();
    pollfd process = {pid_fd_, POLLIN, 0};
    while (poll(&process, 1, -1) < 0) {
    }
    ended_ = true;
    return answer.value;
  }
  return ended_ ? EAGAIN : answer.value;
}

std::array<pollfd, 2> ReaperHandle::fds() const {
  return {pollfd{channel_, POLLIN, 0}, pollfd{pid_fd_, POLLIN, 0}};
}

bool ReaperHandle::TakeEnd(int* wait_status) {
  pollfd process = {pid_fd_, POLLIN, 0};
  const bool process_ended = poll(&process, 1, 0) > 0;  // Before the look for its last message.
  ReaperAnswer answer;
  if (TakeMessage(channel_, &answer) == 0) {
    *wait_status = answer.value;
    ended_ = answer.left_processes;
    return true;
  }
  if (!process_ended) return false;
  *wait_status = W_EXITCODE(0, SIGKILL);  // The kernel has killed the command with its reaper.
  ended_ = true;
  return true;
}

Reapers::~Reapers() {
  if (maker_ < 0) return;
  const wq::MutexLock lock(mu_);
  for (const auto& reaper : idle_) reaper->Hangup();
  CloseOnce(&channel_);
  while (waitpid(maker_, nullptr, 0) < 0 && errno == EINTR) {
  }
  idle_.clear();  // Not before: the reapers' ends are in our table.
  CloseOnce(&makers_end_);
  CloseOnce(&maker_fd_);
}

int Reapers::Start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  channel_ = ends[0];
  makers_end_ = ends[1];
  const pid_t owner = getpid();
  maker_ = ForkSharingDescriptors(&maker_fd_);
  if (maker_ < 0) return errno;
  if (maker_ == 0) RunReaperMaker(makers_end_, owner);
  NewReaperAnswer begun;
  const int error = AwaitMessage(channel_, maker_fd_, &begun);
  return error != 0 ? error : begun.error;
}

int Reapers::Take(std::unique_ptr<ReaperHandle>* reaper) {
  const wq::MutexLock lock(mu_);
  if (!idle_.empty()) {
    *reaper = std::move(idle_.back());
    idle_.pop_back();
    return 0;
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  std::unique_ptr<ReaperHandle> made(new ReaperHandle(ends[0], ends[1]));
  const int error = Make(made.get());
  if (error == 0) *reaper = std::move(made);
  return error;
}

int Reapers::Make(ReaperHandle* reaper) const {
  const NewReaperRequest request{.channel = reaper->reapers_end_};
  if (send(channel_, &request, sizeof request, MSG_NOSIGNAL) < 0) return errno;
  NewReaperAnswer answer;
  if (const int error = AwaitMessage(channel_, maker_fd_, &answer); error != 0) return error;
  reaper->pid_fd_ = answer.pid_fd;
  return answer.error;
}

void Reapers::Return(std::unique_ptr<ReaperHandle> reaper) {
  if (reaper == nullptr || reaper->ended_) return;
  const wq::MutexLock lock(mu_);
  idle_.push_back(std::move(reaper));
}

}  // namespace wqctl
