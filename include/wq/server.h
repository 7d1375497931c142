// Server: lets other processes read, and change, the store of a running process.
//
//   std::unique_ptr<wq::Server> server;
//   wq::Status s = wq::Server::Open(store.get(),
//                                   {.control_socket = true,
//                                    .http_address = "127.0.0.1:9464",
//                                    .metrics = [=] { return wq::PrometheusText(*provider); }},
//                                   &server);
//
// In the library wq_server (target wq::server). It serves only what is asked for:
//   control_socket   DIR/control.sock, mode 0600: everything that wqctl and LiveStore do. A peer
//                    must be root or the user of this process.
//   http_address     loopback only, unless http_any_address is set: GET /metrics, /healthz and
//                    /readyz. Every user of this machine may read them; they contain no key. A
//                    request must name this machine in its Host header, so that no web page reads
//                    them through its own host name.
//
// It has one thread that accepts, and one per connection, at most max_connections of the socket and
// as many of HTTP; they make public calls only. A child that was forked without exec keeps the
// sockets open: they are free when it execs or ends.
// Threading: thread-safe. Lifetime: must end before the store. A crash: leaves the socket's file
// behind; the next Server on the store replaces it.
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
  // Serves the control socket. Default: off.
  bool control_socket = false;

  // Serves HTTP at "HOST:PORT"; HOST is localhost, 127.x.y.z or [::1], or as http_any_address says.
  // Port 0: any free port, see Server::http_port. Default: empty, no HTTP.
  std::string http_address = {};

  // Lets HOST be any IPv4 address, or IPv6 address in brackets: "0.0.0.0:9464" is all addresses of
  // this machine. Then every machine that reaches the address may read /metrics, /healthz and
  // /readyz: the names and numbers of queues, the store's directory, the texts of errors; never a
  // key. There is no encryption and no authentication, and the Host header is not checked. For
  // Prometheus and kubelet, which are on other hosts or in other network namespaces. Default: off.
  bool http_any_address = false;

  // Returns the contents of /metrics in Prometheus's text format: see PrometheusText
  // (prometheus.h). Called by several threads at once. Default: nullptr, no /metrics.
  std::function<std::string()> metrics = nullptr;

  // Opens a queue that a request on the control socket names and that is not open; with `create` it
  // may create the queue. Default: nullptr, only open queues can be changed.
  std::function<Status(std::string_view name, bool create, Queue** queue)> open_queue = nullptr;

  // Bounds the connections of the control socket, and those of HTTP. Each costs a thread. Further
  // connections are answered with 503 and closed. Default: 16.
  size_t max_connections = 16;
  // Bounds a request with its headers, and so its memory. A longer request is refused. Default:
  // 4 MiB.
  size_t max_request_bytes = size_t{4} << 20;
  // Bounds the time from the connection to the last byte of the request, and again the time for the
  // bytes of the answer. Default: 10 s.
  std::chrono::milliseconds io_timeout{10'000};
};

class Server {
 public:
  // Starts to serve. `store` is borrowed, open, and has no other Server with a control socket.
  //   InvalidArgument  nothing to serve, an address that is not loopback, a store in memory with
  //                    control_socket.
  //   AlreadyExists    DIR/control.sock exists and is not a socket.
  //   IOError          the port is taken, no descriptors are left, …
  static Status Open(Store* store, const ServerOptions& options, std::unique_ptr<Server>* server);
  ~Server();  // Closes.
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Removes the socket's file and ends all connections. Idempotent. Blocks: until the running calls
  // have returned.
  void Close();

  int http_port() const;                   // 0 without http_address.
  const std::string& socket_path() const;  // Empty without control_socket.

  struct Impl;

 private:
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq
