// Server: lets others see, and change, what a running process has in its store.
//
//   std::unique_ptr<wq::Server> server;
//   wq::Status s = wq::Server::Open(store.get(),
//                                   {.control_socket = true,
//                                    .http_address = "127.0.0.1:9464",
//                                    .metrics = [=] { return wq::PrometheusText(*provider); }},
//                                   &server);
//
// In the library wq_server (target wq::server). Both doors are shut unless they are asked for:
//   control_socket   DIR/control.sock, mode 0600: all that wqctl and LiveStore do. A peer has to be
//                    root or the user of this process.
//   http_address     loopback only: GET /metrics, /healthz, /readyz. Anybody on this machine may read
//                    them; no key is in them. A request has to name this machine in its Host header,
//                    so that no web page reads them through a name of its own.
//
// Threading: thread-safe. Lifetime: must end before the store. It has a thread that accepts, and one
// for each connection, at most max_connections; they call the public calls only. A crash leaves
// the socket's file behind; the next Server on the store replaces it. A child that is forked without
// exec keeps the sockets open: it must exec, or end, before they are free.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wq/status.h"

namespace wq {

class Queue;
class Store;

struct ServerOptions {
  bool control_socket = false;

  // "HOST:PORT"; HOST is localhost, 127.x.y.z or [::1]. Port 0: any that is free, see
  // Server::http_port. Empty: none.
  std::string http_address = {};

  // What /metrics shows, in Prometheus's text format: see PrometheusText (prometheus.h). Called by
  // several threads at once. nullptr: there is no /metrics.
  std::function<std::string()> metrics = nullptr;

  // Opens a queue that somebody asks for over the control socket and that is not open; with `create`
  // it may be made. nullptr: only open queues can be changed.
  std::function<Status(std::string_view name, bool create, Queue** queue)> open_queue = nullptr;

  // Further connections are answered with 503 and closed.
  size_t max_connections = 16;
  // Of a request with its headers. A longer one is refused.
  size_t max_request_bytes = size_t{4} << 20;
  // From the connection to the last byte of the request, and again for the answer's bytes.
  std::chrono::milliseconds io_timeout{10'000};
};

class Server {
 public:
  // `store` is borrowed, open, and has no other Server with a control socket.
  //   InvalidArgument  nothing to serve, an address that is not loopback, a store in memory with
  //                    control_socket.
  //   AlreadyExists    DIR/control.sock is there and is no socket.
  //   IOError          the port is taken, no descriptors are left, …
  static Status Open(Store* store, const ServerOptions& options, std::unique_ptr<Server>* server);
  ~Server();  // Closes.
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Removes the socket's file and ends all connections. Idempotent. Blocks: until the calls that are
  // under way have returned.
  void Close();

  int http_port() const;                   // 0 without http_address.
  const std::string& socket_path() const;  // Empty without control_socket.

  struct Impl;

 private:
  explicit Server(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq
