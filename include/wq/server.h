// Server: lets other processes read, and change, the store of a running process.
//
//   std::unique_ptr<wq::Server> server;
//   wq::Status s = wq::Server::Open(store.get(),
//                                   {.control_socket = true,
//                                    .http_address = "127.0.0.1:9464",
//                                    .metrics = [=] { return wq::PrometheusText(*provider); }},
//                                   &server);
//
// In the library wq_server (target wq::server), which links gRPC. It serves only what is asked for:
//   control_socket   DIR/control.sock, mode 0600: the services of proto/wq/v1 over gRPC and over
//                    HTTP/JSON; all that wqctl, LiveStore and the clients in other languages do. A
//                    peer must be root or the user of this process.
//   address          the same over TCP: on loopback, or with a token or certificates of clients.
//   http_address     loopback only, unless http_any_address is set: GET /metrics, /healthz and
//                    /readyz. Every user of this machine may read them; they contain no key. A
//                    request must name this machine in its Host header, and have no Origin header,
//                    so that no web page reads them through its own host name.
//   page             besides at http_address: the live page, and over HTTP/JSON the calls that it
//                    makes, with all keys. Without a token every user of this machine is an
//                    operator. An Origin header must then be the address itself.
//
// Workers in other processes share a queue with this process's own workers: a key is assigned to
// one of them. docs/server.md is the reference.
//
// An idle server without the page does not wake up, with any number of connections. It makes public
// calls only. A child that was forked without exec keeps the sockets open: they are free when it
// execs or ends.
// Threading: thread-safe. Lifetime: must end before the store. A crash: leaves the socket's file
// behind; the next Server on the store replaces it. Keys that were assigned are queued again.
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

  // Serves the same at "HOST:PORT" over TCP. HOST is localhost, 127.x.y.z or [::1]; with
  // token_file or tls_client_ca_file, any IPv4 address, or IPv6 address in brackets. Port 0: any
  // free port, see Server::port. Default: empty, no TCP.
  std::string address = {};

  // TLS for `address`: files in PEM format, read again within a minute of a change. With a client
  // CA, a client must show a certificate that the CA has signed. TLS carries gRPC only, not
  // HTTP/JSON. Default: empty, no TLS.
  std::string tls_certificate_file = {};
  std::string tls_key_file = {};
  std::string tls_client_ca_file = {};
  // TLS keeps others from reading, but keeps nobody out: without a client CA and without token_file
  // HOST must be of this machine alone. This lets it be any address, and every client that reaches
  // it do everything. Default: off.
  bool tls_any_client = false;

  // A file with the bearer token that every call over TCP must have ("authorization: Bearer …"). It
  // must not be accessible to its group or to others. Without TLS the token and all keys cross the
  // network in plain text. Default: empty, no token.
  std::string token_file = {};

  // As token_file, which must be set: a second token, of viewers. A call with it may read and not
  // change; those calls are the ones that proto/wq/v1 marks NO_SIDE_EFFECTS. Default: empty, none.
  std::string viewer_token_file = {};

  // Refuses every call that changes something, on every listener. Default: off.
  bool read_only = false;

  // Called with a line, without its end, after each call that changes something: from where, with
  // which role and token, what, and with which result. These are the calls of Admin, without Flush,
  // and Queue.Add; not the work. Several threads call it. Must not block. Default: nullptr.
  std::function<void(const std::string& line)> log_change = nullptr;

  // Called with a line for people, without its end: a wrong token was shown, at most once a minute.
  // Must not block. Default: nullptr.
  std::function<void(const std::string& line)> warn = nullptr;

  // Serves HTTP at "HOST:PORT"; HOST is localhost, 127.x.y.z or [::1], or as http_any_address says.
  // Port 0: any free port, see Server::http_port. Default: empty, no HTTP.
  std::string http_address = {};

  // Lets HOST be any IPv4 address, or IPv6 address in brackets: "0.0.0.0:9464" is all addresses of
  // this machine. Then every machine that reaches the address may read /metrics, /healthz and
  // /readyz: the names and numbers of queues, the store's directory, the texts of errors; never a
  // key. There is no encryption and no authentication, and the Host header is not checked. For
  // Prometheus and kubelet, which are on other hosts or in other network namespaces. Default: off.
  bool http_any_address = false;

  // Serves the live page at http_address, and the calls of proto/wq/v1 that it makes: see
  // docs/ui.md. Whoever may read the address may then read and change keys; without token_file that
  // is everybody on this machine, so http_any_address needs token_file. With it the page asks for a
  // token, and calls need one; /metrics, /healthz and /readyz still need none. Web pages of other
  // servers are refused by their Origin header. The server then wakes up every 10 s, to count
  // the keys for the page's charts, and a page that is seen reads every 2 s. Default: off.
  bool page = false;

  // Returns the contents of /metrics in Prometheus's text format: see PrometheusText
  // (prometheus.h). Called by several threads at once. Default: nullptr, no /metrics.
  std::function<std::string()> metrics = nullptr;

  // Opens a queue that a request on the control socket names and that is not open; with `create` it
  // may create the queue. Default: nullptr, only open queues can be changed.
  std::function<Status(std::string_view name, bool create, Queue** queue)> open_queue = nullptr;

  // Lets clients delete any queue of the store, not only those that were opened by open_queue: this
  // program uses no Queue* but those that it gets from the store when it needs them. Default: off.
  bool delete_any_queue = false;

  // Bounds the workers of all queues. Default: 4096.
  size_t max_workers = 4096;
  // A worker that holds keys and sends nothing for this long loses them, unless it asks for another
  // limit. At least 1 s. Default: 30 s.
  std::chrono::milliseconds worker_silence_limit{30'000};
  // Bounds the gRPC connections, each of which costs two descriptors; all connections together use
  // at most half of RLIMIT_NOFILE. Default: 10 000.
  // One address has at most three quarters of them.
  size_t max_connections = 10'000;
  // Bounds the HTTP connections of each listener, each of which costs a descriptor; all of them
  // together use at most a quarter of RLIMIT_NOFILE. When there are more, the oldest that has made
  // no call yet is closed, or else the one whose next request is awaited for the longest time; if
  // each has a call or a stream under way, further ones get 503, but for /healthz and /readyz.
  // Default: 10 000.
  size_t max_http_connections = 10'000;
  // Bounds the HTTP connections of one address, or on the control socket of one process, that have
  // made no call yet, or none that was not refused for its token: beyond it the oldest of them is
  // closed. Half of max_http_connections, if that is less. Default: 4000.
  size_t max_newcomers = 4000;
  // Bounds a request with its headers, and so its memory. A longer request is refused. Default:
  // 4 MiB. At most 1 GiB.
  size_t max_request_bytes = size_t{4} << 20;
  // Bounds the time from the connection to the first bytes, and over HTTP to the last byte of the
  // request, and again the time for the bytes of the answer. Default: 10 s.
  std::chrono::milliseconds io_timeout{10'000};
  // A gRPC connection over TCP from which no call was accepted ends after this time, or earlier if
  // there are too many connections. Default: 30 s.
  std::chrono::milliseconds newcomer_timeout{30'000};
};

class Server {
 public:
  // Starts to serve. `store` is borrowed, open, and has no other Server with a control socket.
  //   InvalidArgument  nothing to serve, an address that is not loopback, a store in memory with
  //                    control_socket, a certificate or token file that cannot be used, a page
  //                    without http_address, or for other machines without a token.
  //   AlreadyExists    DIR/control.sock exists and is not a socket.
  //   IOError          the port is taken, no descriptors are left, …
  static Status Open(Store* store, const ServerOptions& options, std::unique_ptr<Server>* server);
  ~Server();  // Closes.
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Assigns no more keys to workers, and waits until they have answered those that they hold. Calls
  // other than Work go on. TimedOut: `timeout` has passed. Blocks: for that time at most.
  Status Drain(std::chrono::milliseconds timeout);
  // Takes a token for a key that a worker of this process holds: greater than the tokens of all
  // earlier assignments, so that the worker can fence its writes as workers in other processes do.
  // NotDurable: see Store::ReserveTokens. Blocks: for a write, once in 2^32 tokens.
  Status TakeToken(uint64_t* token);
  // Reads the token files again. Ends the log-ins of the page. After an error the token of that
  // file is as before.
  Status Reload();
  // Removes the socket's file and ends all connections: the keys of workers are given back to their
  // queues. Idempotent. Blocks: until the running calls have returned.
  void Close();

  int port() const;                        // 0 without address.
  int http_port() const;                   // 0 without http_address.
  const std::string& socket_path() const;  // Empty without control_socket.

  struct Impl;

 private:
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// ViewServer: shows a store that no server serves on a live page, and changes nothing of it.
//
//   std::unique_ptr<wq::ViewServer> server;
//   wq::Status s = wq::ViewServer::Open("/var/lib/pods.wq", {.http_address = "127.0.0.1:8080"},
//                                       &server);
//
// The store may have an owner, may be closed, or may have crashed: it is read as StoreView reads
// it, so keys that are processing are shown as queued, and what an owner has only in memory is not
// seen. The page says when the store was read. It has no workers, no rates and no charts.
// docs/ui.md is the reference.
//
// With a page open the store is read again every 2 s, or less often if that takes long; otherwise
// it is not read, and nothing wakes up. Threading: thread-safe. A crash: leaves nothing behind.
struct ViewServerOptions {
  // As ServerOptions has them. A page for other machines needs a token.
  std::string http_address = {};
  bool http_any_address = false;
  std::string token_file = {};
  size_t max_http_connections = 1000;
  std::chrono::milliseconds io_timeout{10'000};
};

class ViewServer {
 public:
  // NotFound, Corruption, NotSupported: as StoreView::Open. InvalidArgument, IOError: as
  // Server::Open.
  static Status Open(const std::string& dir, const ViewServerOptions& options,
                     std::unique_ptr<ViewServer>* server);
  ~ViewServer();  // Closes.
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  // Ends all connections. Idempotent. Blocks: until the running calls have returned.
  void Close();
  int http_port() const;

  struct Impl;

 private:
  explicit ViewServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace wq
