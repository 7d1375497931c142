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
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

// After an accept that failed for want of descriptors or memory.
constexpr int kAcceptPauseMs = 50;

Http::Options HttpOptions(const ServerOptions& options, bool check_host) {
  return {.check_host = check_host,
          .max_request_bytes = options.max_request_bytes,
          .io_timeout = options.io_timeout};
}

// Whether the store does, and is about to go on doing, what it is for.
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
        control(HttpOptions(options, false)),
        web(HttpOptions(options, true)) {
    for (Http* const http : {&control, &web}) {
      AddReadings(http);
    }
    AddControl(store, options.open_queue, &control);
  }

  void AddReadings(Http* http);
  Status Listen();
  Status Start();

  // The acceptor's.
  void Accept();
  void AcceptFrom(const Descriptor& listener, const Http& http) WQ_EXCLUDES(mu);
  void Begin(Descriptor fd, const Http& http) WQ_EXCLUDES(mu);
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
  ino_t inode = 0;  // Of our socket's file; 0: there is none.
  int port = 0;
  Descriptor unix_listener;
  Descriptor tcp_listener;
  Descriptor wake;  // An eventfd: a connection has ended, or all shall.
  std::thread acceptor;

  struct Connection {
    Descriptor fd;
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
    if (Status s = ListenOnLoopback(options.http_address, &tcp_listener, &port); !s.ok()) {
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
  wake = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
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
                                 pollfd{tcp_listener.get(), POLLIN, 0}};  // -1 is left out.
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

void Server::Impl::AcceptFrom(const Descriptor& listener, const Http& http) {
  Descriptor fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      pollfd woken = {wake.get(), POLLIN, 0};
      poll(&woken, 1, kAcceptPauseMs);
    }
    return;
  }
  if (&http == &control && !PeerMayUse(fd.get())) {
    return;  // Only root's doing could have let it come so far.
  }
  Begin(std::move(fd), http);
}

void Server::Impl::Begin(Descriptor fd, const Http& http) {
  const MutexLock lock(mu);
  if (closing) {
    return;
  }
  if (connections.size() >= options.max_connections) {
    return Http::Refuse(fd.get());
  }
  Connection& connection = connections.emplace_back();
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
    // Whoever has not said his request by now is cut off; who waits for an answer gets it.
    for (const Connection& connection : connections) {
      shutdown(connection.fd.get(), SHUT_RD);
    }
  }
  if (acceptor.joinable()) {
    Wake();
    acceptor.join();
  }
  // Before others may own the store: what is there afterwards is theirs.
  if (inode != 0 && InodeOf(file) == inode) {
    RemoveFile(file);
  }
  unix_listener.Reset();
  tcp_listener.Reset();
  std::list<Connection> rest;
  {
    const MutexLock lock(mu);
    rest.swap(connections);
  }
  for (Connection& connection : rest) {
    connection.thread.join();
  }
}

Server::Server(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}

Server::~Server() { Close(); }

Status Server::Open(Store* store, const ServerOptions& options, std::unique_ptr<Server>* server) {
  server->reset();
  if (!options.control_socket && options.http_address.empty()) {
    return Status::InvalidArgument("there is nothing to serve");
  }
  if (options.control_socket && store->dir().empty()) {
    return Status::InvalidArgument("a store in memory has no place for a socket");
  }
  auto rep = std::make_unique<Impl>(store, options);
  if (Status s = rep->Listen(); !s.ok()) {
    return s;
  }
  if (Status s = rep->Start(); !s.ok()) {
    rep->Close();
    return s;
  }
  server->reset(new Server(std::move(rep)));
  return {};
}

void Server::Close() { impl_->Close(); }
int Server::http_port() const { return impl_->port; }
const std::string& Server::socket_path() const { return impl_->file.path; }

}  // namespace wq
