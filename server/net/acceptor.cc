#include "server/net/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "server/net/socket.h"

namespace wq {
namespace {

// The pause after an accept that failed for lack of descriptors or memory.
constexpr int kAcceptPauseMs = 50;
// Per listener, before the others have their turn.
constexpr int kAcceptsAtOnce = 64;
constexpr size_t kMaxPending = 4096;
// The first bytes of HTTP/2. No method of HTTP/1.1 has this name.
constexpr std::string_view kHttp2 = "PRI ";
constexpr uint64_t kWakeId = 0;

enum class Protocol { kUnknown, kHttp2, kHttp1, kClosed };

// Inspects the first bytes and leaves them in the socket.
Protocol Peek(int fd) {
  std::array<char, kHttp2.size()> first;
  const ssize_t n = recv(fd, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    return Protocol::kUnknown;
  }
  if (n <= 0) {
    return Protocol::kClosed;
  }
  const std::string_view seen(first.data(), static_cast<size_t>(n));
  if (!kHttp2.starts_with(seen)) {
    return Protocol::kHttp1;
  }
  return seen.size() == kHttp2.size() ? Protocol::kHttp2 : Protocol::kUnknown;
}

std::string_view PortOf(std::string_view peer) { return peer.substr(peer.rfind(':') + 1); }

void SetTcpOptions(int fd) {
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // The kernel ends the connection of a silent peer after 60 s, and that of a peer that does not
  // acknowledge what was sent after 60 s.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
}

}  // namespace

Acceptor::~Acceptor() { Close(); }

Status Acceptor::Open(Options options, std::unique_ptr<Acceptor>* acceptor) {
  acceptor->reset(new Acceptor(std::move(options)));
  Status s = (*acceptor)->Start();
  if (!s.ok()) {
    acceptor->reset();
  }
  return s;
}

// Closing the descriptor would not do: a duplicate keeps the connection in the set.
void Acceptor::Unwatch(int fd) const { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

bool Acceptor::Watch(int fd, uint32_t events, uint64_t id) const {
  epoll_event event = {.events = events, .data = {.u64 = id}};
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Acceptor::SetLimits() {
  std::array<bool, kKinds> used = {};
  for (const Listener& listener : options_.listeners) {
    used[IndexOf(listener.kind)] = true;
  }
  const size_t plain =
      size_t{used[IndexOf(ListenerKind::kControl)]} + size_t{used[IndexOf(ListenerKind::kTcp)]};
  const size_t http_kinds = std::max<size_t>(1, plain + size_t{used[IndexOf(ListenerKind::kWeb)]});
  const size_t grpc_kinds = std::max<size_t>(1, plain + size_t{used[IndexOf(ListenerKind::kTls)]});
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const size_t half = std::min<rlim_t>(limit.rlim_cur, rlim_t{1} << 30) / 2;
  constexpr size_t kDescriptors = 2;  // Of a gRPC connection.
  max_pending_ = std::clamp<size_t>(half / 8, 1, kMaxPending);
  max_http_ = std::min(options_.max_http, std::max<size_t>(1, half / 2 / http_kinds));
  const size_t others = plain * max_pending_ + http_kinds * max_http_;
  const size_t rest = half > others ? half - others : 0;
  max_grpc_ = std::min(options_.max_grpc, std::max<size_t>(1, rest / kDescriptors / grpc_kinds));
}

Status Acceptor::Start() {
  SetLimits();
  epoll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  stop_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !stop_.valid() || !Watch(stop_.get(), EPOLLIN, kWakeId)) {
    return Status::IOError("cannot make the descriptors that wait for connections");
  }
  for (const Listener& listener : options_.listeners) {
    const int fd = listener.fd.get();
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        !Watch(fd, EPOLLIN, ++next_id_)) {
      return Status::IOError("cannot wait for the connections of descriptor " + std::to_string(fd));
    }
  }
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& e) {
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  return {};
}

void Acceptor::Run() {
  std::array<epoll_event, 64> events;
  while (!stopping_) {
    const int n = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                             MillisecondsLeft());
    for (int i = 0; i < n && !stopping_; ++i) {
      const epoll_event event = events[static_cast<size_t>(i)];
      HandleEvent(event.data.u64, event.events);
    }
    CloseExpired();
  }
}

void Acceptor::HandleEvent(uint64_t id, uint32_t events) {
  if (id == kWakeId) {
    return;
  }
  if (id <= options_.listeners.size()) {
    return AcceptFrom(options_.listeners[id - 1]);
  }
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (pending_[kind].contains(id)) {
      return HandlePending(kind, id, events);
    }
  }
  EndGrpc(id);  // EPOLLHUP or EPOLLERR.
}

void Acceptor::AcceptFrom(const Listener& listener) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    FileDescriptor fd(accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        pollfd woken = {stop_.get(), POLLIN, 0};
        poll(&woken, 1, kAcceptPauseMs);
      }
      return;
    }
    if (listener.kind == ListenerKind::kControl) {
      if (!PeerMayUse(fd.get())) {
        continue;  // Other users can connect only if the file's mode was changed.
      }
    } else {
      SetTcpOptions(fd.get());
    }
    Classify(std::move(fd), listener.kind);
  }
}

void Acceptor::Classify(FileDescriptor fd, ListenerKind kind) {
  if (kind == ListenerKind::kTls) {
    return BeginGrpc(std::move(fd), kind);
  }
  if (kind == ListenerKind::kWeb) {
    return options_.http(std::move(fd), kind);
  }
  switch (Peek(fd.get())) {
    case Protocol::kHttp2:
      return BeginGrpc(std::move(fd), kind);
    case Protocol::kHttp1:
      return options_.http(std::move(fd), kind);
    case Protocol::kUnknown:
      return AddPending(std::move(fd), kind);
    case Protocol::kClosed:
      return;
  }
}

void Acceptor::AddPending(FileDescriptor fd, ListenerKind kind) {
  std::map<uint64_t, Pending>& pending = pending_[IndexOf(kind)];
  if (pending.size() >= max_pending_) {
    pending.erase(pending.begin());
  }
  // Edge-triggered: one to three bytes stay in the socket and are no event again.
  if (Watch(fd.get(), EPOLLIN | EPOLLRDHUP | EPOLLET, ++next_id_)) {
    pending.emplace(next_id_,
                    Pending{std::move(fd), std::chrono::steady_clock::now() + options_.io_timeout});
  }
}

void Acceptor::HandlePending(size_t kind, uint64_t id, uint32_t events) {
  const auto it = pending_[kind].find(id);
  Protocol protocol = Peek(it->second.fd.get());
  if (protocol == Protocol::kUnknown) {
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) {
      return;
    }
    protocol = Protocol::kClosed;  // Fewer than four bytes, and no more will follow.
  }
  FileDescriptor fd = std::move(it->second.fd);
  pending_[kind].erase(it);
  Unwatch(fd.get());
  if (protocol == Protocol::kHttp2) {
    BeginGrpc(std::move(fd), static_cast<ListenerKind>(kind));
  } else if (protocol == Protocol::kHttp1) {
    options_.http(std::move(fd), static_cast<ListenerKind>(kind));
  }
}

void Acceptor::CloseExpired() {
  const auto now = std::chrono::steady_clock::now();
  for (std::map<uint64_t, Pending>& pending : pending_) {
    while (!pending.empty() && pending.begin()->second.deadline <= now) {
      pending.erase(pending.begin());
    }
  }
  std::vector<uint64_t> expired;
  {
    const MutexLock lock(mu_);
    for (const auto& [id, newcomer] : newcomers_) {
      if (newcomer.deadline > now) {
        break;
      }
      expired.push_back(id);
    }
  }
  for (const uint64_t id : expired) {
    ShutDownGrpc(id);
  }
}

int Acceptor::MillisecondsLeft() {
  auto first = std::chrono::steady_clock::time_point::max();
  for (const std::map<uint64_t, Pending>& pending : pending_) {
    if (!pending.empty()) {
      first = std::min(first, pending.begin()->second.deadline);
    }
  }
  {
    const MutexLock lock(mu_);
    if (!newcomers_.empty()) {
      first = std::min(first, newcomers_.begin()->second.deadline);
    }
  }
  if (first == std::chrono::steady_clock::time_point::max()) {
    return -1;
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(first - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

bool Acceptor::HasRoom(ListenerKind kind, const std::string& address) const {
  const std::map<std::string, size_t>& of_address = grpc_of_address_[IndexOf(kind)];
  const auto same = of_address.find(address);
  return grpc_of_kind_[IndexOf(kind)] < max_grpc_ &&
         (same == of_address.end() || same->second < std::max<size_t>(1, max_grpc_ / 4 * 3));
}

void Acceptor::BeginGrpc(FileDescriptor fd, ListenerKind kind) {
  if (options_.grpc == nullptr) {
    return;
  }
  const bool bounded = kind != ListenerKind::kControl;
  const std::string name = PeerName(fd.get());
  const std::string address = bounded ? PeerAddress(name) : "";
  if (!HasRoom(kind, address)) {
    const bool of_kind = grpc_of_kind_[IndexOf(kind)] >= max_grpc_;
    if (!EndOldestNewcomer(kind, of_kind ? "" : address) || !HasRoom(kind, address)) {
      return;
    }
  }
  FileDescriptor duplicate(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid() || !Watch(duplicate.get(), 0, ++next_id_)) {
    return;
  }
  grpc_.emplace(next_id_, Grpc{std::move(duplicate), kind, address});
  if (bounded) {
    ++grpc_of_address_[IndexOf(kind)][address];
    std::string port(PortOf(name));
    const MutexLock lock(mu_);
    newcomer_of_port_.emplace(port, next_id_);
    newcomers_.emplace(next_id_, Newcomer{std::move(port), std::chrono::steady_clock::now() +
                                                               options_.newcomer_timeout});
    has_newcomers_ = true;
  }
  ++grpc_of_kind_[IndexOf(kind)];
  ++grpc_count_;
  options_.grpc(std::move(fd), kind);
}

void Acceptor::SetKnown(std::string_view peer) {
  if (!has_newcomers_) {
    return;
  }
  const MutexLock lock(mu_);
  const auto [begin, end] = newcomer_of_port_.equal_range(std::string(PortOf(peer)));
  for (auto it = begin; it != end; ++it) {
    newcomers_.erase(it->second);
  }
  newcomer_of_port_.erase(begin, end);
  has_newcomers_ = !newcomers_.empty();
}

bool Acceptor::EndOldestNewcomer(ListenerKind kind, const std::string& address) {
  std::optional<uint64_t> oldest;
  {
    const MutexLock lock(mu_);
    for (const auto& [id, newcomer] : newcomers_) {
      const Grpc& connection = grpc_.at(id);
      if (connection.kind == kind && (address.empty() || connection.address == address)) {
        oldest = id;
        break;
      }
    }
  }
  if (oldest) {
    ShutDownGrpc(*oldest);
  }
  return oldest.has_value();
}

void Acceptor::ShutDownGrpc(uint64_t id) {
  shutdown(grpc_.at(id).fd.get(), SHUT_RDWR);
  EndGrpc(id);
}

void Acceptor::EndGrpc(uint64_t id) {
  const auto found = grpc_.find(id);
  if (found == grpc_.end()) {
    return;
  }
  const Grpc& connection = found->second;
  Unwatch(connection.fd.get());
  --grpc_of_kind_[IndexOf(connection.kind)];
  --grpc_count_;
  std::map<std::string, size_t>& of_address = grpc_of_address_[IndexOf(connection.kind)];
  const auto same = of_address.find(connection.address);
  if (same != of_address.end() && --same->second == 0) {
    of_address.erase(same);
  }
  grpc_.erase(found);
  const MutexLock lock(mu_);
  const auto newcomer = newcomers_.find(id);
  if (newcomer == newcomers_.end()) {
    return;
  }
  auto [it, end] = newcomer_of_port_.equal_range(newcomer->second.port);
  it = std::find_if(it, end, [id](const auto& one) { return one.second == id; });
  newcomer_of_port_.erase(it);
  newcomers_.erase(newcomer);
  has_newcomers_ = !newcomers_.empty();
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    stopping_ = true;
    const uint64_t one = 1;
    static_cast<void>(write(stop_.get(), &one, sizeof(one)));
    thread_.join();
  }
  options_.listeners.clear();
  for (std::map<uint64_t, Pending>& pending : pending_) {
    pending.clear();
  }
}

void Acceptor::Close() {
  Stop();
  for (const auto& [id, connection] : grpc_) {
    shutdown(connection.fd.get(), SHUT_RDWR);
  }
  grpc_.clear();
  grpc_count_ = 0;
}

}  // namespace wq
