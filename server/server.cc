#include "wq/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/names.h"
#include "server/control.h"
#include "server/http.h"
#include "server/socket.h"
#include "wq/keys.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

// The pause after an accept that failed for lack of descriptors or memory.
constexpr int kAcceptPauseMs = 50;

Http::Options ControlOptions(const ServerOptions& options) {
  return {.check_host = false,
          .not_found = NoSuchCall,
          .max_request_bytes = options.max_request_bytes,
          .io_timeout = options.io_timeout};
}

// An address beyond loopback has names that are not known here, so its Host is not checked.
Http::Options WebOptions(const ServerOptions& options) {
  return {.check_host = IsLoopbackAddress(options.http_address),
          .not_found =
              [](const std::string& request) {
                return HttpReply{.status = 404,
                                 .body = "not served here: " + EscapeKey(request, 256) + "\n"};
              },
          .max_request_bytes = options.max_request_bytes,
          .io_timeout = options.io_timeout};
}

// 200 if the store is durable and no queue is shutting down.
HttpReply Readiness(const Store& store) {
  if (Status s = store.Health(); !s.ok()) {
    return {.status = 503, .body = "not durable: " + s.message() + "\n"};
  }
  for (const std::string& name : store.QueueNames()) {
    const Queue* const queue = store.FindQueue(name);
    if (queue != nullptr && queue->IsShuttingDown()) {
      return {.status = 503, .body = "queue " + name + " is shutting down\n"};
    }
  }
  return {.body = "ok\n"};
}

}  // namespace

struct Server::Impl {
  Impl(Store* served_store, const ServerOptions& server_options)
      : store(served_store),
        options(server_options),
        control(ControlOptions(options)),
        web(WebOptions(options)) {
    for (Http* const http : {&control, &web}) {
      AddReadings(http);
    }
    AddControl(store, options.open_queue, &control);
  }

  void AddReadings(Http* http);
  Status Listen();
  Status Start();

  // Called by the acceptor thread.
  void Accept();
  void AcceptFrom(const FileDescriptor& listener, const Http& http) WQ_EXCLUDES(mu);
  void Begin(FileDescriptor fd, const Http& http) WQ_EXCLUDES(mu);
  void JoinEnded() WQ_EXCLUDES(mu);
  void Wake() const {
    const uint64_t one = 1;
    static_cast<void>(write(wake.get(), &one, sizeof(one)));
  }
  void Close() WQ_EXCLUDES(mu);

  Store* const store;
  const ServerOptions options;
  Http control;
  Http web;
  SocketFile file;
  ino_t inode = 0;  // Of the socket file that this server has created; 0: none.
  int port = 0;
  FileDescriptor unix_listener{-1};
  FileDescriptor tcp_listener{-1};
  FileDescriptor wake{-1};  // An eventfd: a connection has ended, or the server is closing.
  std::thread acceptor;

  struct Connection {
    const Http* http = nullptr;
    FileDescriptor fd{-1};
    std::thread thread;
    bool ended = false;
  };
  Mutex mu;
  std::list<Connection> connections WQ_GUARDED_BY(mu);
  bool closing WQ_GUARDED_BY(mu) = false;
};

void Server::Impl::AddReadings(Http* http) {
  http->Get("/healthz", [](const std::string&) { return HttpReply{.body = "ok\n"}; });
  http->Get("/readyz", [this](const std::string&) { return Readiness(*store); });
  if (options.metrics != nullptr) {
    http->Get("/metrics", [this](const std::string&) {
      return HttpReply{.type = "text/plain; version=0.0.4; charset=utf-8",
                       .body = options.metrics()};
    });
  }
}

Status Server::Impl::Listen() {
  if (!options.http_address.empty()) {
    if (Status s =
            ListenOnTcp(options.http_address, options.http_any_address, &tcp_listener, &port);
        !s.ok()) {
      return s;
    }
  }
  if (!options.control_socket) {
    return {};
  }
  if (Status s = OpenSocketFile(store->dir(), kControlSocketFile, &file); !s.ok()) {
    return s;
  }
  if (Status s = ListenOnFile(file, &unix_listener); !s.ok()) {
    return s;
  }
  inode = InodeOf(file);
  return {};
}

Status Server::Impl::Start() {
  wake = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return Status::IOError("eventfd failed");
  }
  try {
    acceptor = std::thread([this] { Accept(); });
  } catch (const std::system_error& e) {
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  return {};
}

void Server::Impl::Accept() {
  for (;;) {
    std::array<pollfd, 3> fds = {pollfd{wake.get(), POLLIN, 0},
                                 pollfd{unix_listener.get(), POLLIN, 0},
                                 pollfd{tcp_listener.get(), POLLIN, 0}};  // poll ignores -1.
    poll(fds.data(), fds.size(), -1);
    uint64_t ignored = 0;
    static_cast<void>(read(wake.get(), &ignored, sizeof(ignored)));
    {
      const MutexLock lock(mu);
      if (closing) {
        return;
      }
    }
    JoinEnded();
    if (fds[1].revents != 0) {
      AcceptFrom(unix_listener, control);
    }
    if (fds[2].revents != 0) {
      AcceptFrom(tcp_listener, web);
    }
  }
}

void Server::Impl::AcceptFrom(const FileDescriptor& listener, const Http& http) {
  FileDescriptor fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      pollfd woken = {wake.get(), POLLIN, 0};
      poll(&woken, 1, kAcceptPauseMs);
    }
    return;
  }
  if (&http == &control && !PeerMayUse(fd.get())) {
    return;  // Other users can connect only if the file's mode was changed.
  }
  Begin(std::move(fd), http);
}

void Server::Impl::Begin(FileDescriptor fd, const Http& http) {
  const MutexLock lock(mu);
  if (closing) {
    return;
  }
  // For each listener on its own: remote peers cannot keep wqctl from the control socket.
  const auto same = [&http](const Connection& other) { return other.http == &http; };
  if (std::count_if(connections.begin(), connections.end(), same) >=
      static_cast<std::ptrdiff_t>(options.max_connections)) {
    return Http::Refuse(fd.get());
  }
  Connection& connection = connections.emplace_back();
  connection.http = &http;
  connection.fd = std::move(fd);
  try {
    connection.thread = std::thread([this, &http, &connection] {
      http.Answer(connection.fd.get());
      const MutexLock thread_lock(mu);
      connection.ended = true;
      Wake();
    });
  } catch (const std::system_error&) {
    Http::Refuse(connection.fd.get());
    connections.pop_back();
  }
}

void Server::Impl::JoinEnded() {
  std::list<Connection> ended;
  {
    const MutexLock lock(mu);
    for (auto it = connections.begin(); it != connections.end();) {
      const auto next = std::next(it);
      if (it->ended) {
        ended.splice(ended.end(), connections, it);
      }
      it = next;
    }
  }
  for (Connection& connection : ended) {
    connection.thread.join();
  }
}

void Server::Impl::Close() {
  {
    const MutexLock lock(mu);
    if (std::exchange(closing, true)) {
      return;
    }
    // Connections whose request is incomplete are cut off; the others get their answer.
    for (const Connection& connection : connections) {
      shutdown(connection.fd.get(), SHUT_RD);
    }
  }
  if (acceptor.joinable()) {
    Wake();
    acceptor.join();
  }
  // While this process still owns the store: later the file belongs to the next owner.
  if (inode != 0 && InodeOf(file) == inode) {
    RemoveFile(file);
  }
  unix_listener = FileDescriptor(-1);
  tcp_listener = FileDescriptor(-1);
  std::list<Connection> rest;
  {
    const MutexLock lock(mu);
    rest.swap(connections);
  }
  for (Connection& connection : rest) {
    connection.thread.join();
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { Close(); }

Status Server::Open(Store* store, const ServerOptions& options, std::unique_ptr<Server>* server) {
  server->reset();
  if (!options.control_socket && options.http_address.empty()) {
    return Status::InvalidArgument("neither control_socket nor http_address is set");
  }
  if (options.control_socket && store->dir().empty()) {
    return Status::InvalidArgument("a store in memory has no directory for a socket");
  }
  auto impl = std::make_unique<Impl>(store, options);
  if (Status s = impl->Listen(); !s.ok()) {
    return s;
  }
  if (Status s = impl->Start(); !s.ok()) {
    impl->Close();
    return s;
  }
  server->reset(new Server(std::move(impl)));
  return {};
}

void Server::Close() { impl_->Close(); }
int Server::http_port() const { return impl_->port; }
const std::string& Server::socket_path() const { return impl_->file.path; }

}  // namespace wq
