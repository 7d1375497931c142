// Acceptor: accepts the connections of all listeners, decides whether each is gRPC or HTTP/1.1, and
// limits their number.
//
//   std::unique_ptr<Acceptor> acceptor;
//   Status s = Acceptor::Open({.listeners = std::move(listeners),
//                              .grpc = [&](FileDescriptor fd) { … },
//                              .http = [&](FileDescriptor fd, ListenerKind kind) { … }},
//                             &acceptor);
//
// A plaintext connection of HTTP/2 begins with "PRI ", so its first four bytes are inspected and
// left in the socket. One thread accepts. An idle server with any number of connections does not
// wake up: the kernel notices peers that are gone (TCP keepalive), and gRPC calls shutdown(2) when
// it closes a connection, which is seen through a duplicate of its descriptor.
// Threading: thread-safe. Lifetime: what the functions use must outlive Close.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "wq/status.h"

namespace wq {

enum class ListenerKind {
  kControl,  // A unix socket, plaintext. The peer must be root or the user of this process.
  kTcp,      // Plaintext.
  kTls,      // gRPC only.
  kWeb,      // HTTP only: metrics and health.
};

struct Listener {
  FileDescriptor fd;  // A listening stream socket. It is made non-blocking.
  ListenerKind kind;
};

class Acceptor {
 public:
  struct Options {
    std::vector<Listener> listeners = {};
    // Called by the acceptor's thread; must not block. Own the descriptor, and call shutdown(2)
    // before they close it. nullptr: such connections are closed.
    std::function<void(FileDescriptor)> grpc = nullptr;
    std::function<void(FileDescriptor)> grpc_tls = nullptr;
    // The same, but bounds its connections to max_http() of each kind itself.
    std::function<void(FileDescriptor fd, ListenerKind kind)> http = nullptr;
    // Each bounds the connections of one kind of listener, so that the peers of one cannot lock out
    // those of another. A gRPC connection costs two descriptors, as it has a duplicate. Both
    // numbers are lowered so that all connections together use at most half of RLIMIT_NOFILE (HTTP
    // at most a quarter), and the store has the rest.
    // One address has at most three quarters of the gRPC connections of a kind, but for kControl.
    // A connection beyond a bound ends the oldest newcomer in its place, if there is one: see
    // newcomer_timeout.
    size_t max_grpc = 10'000;
    size_t max_http = 10'000;
    // The time for the first bytes of a plaintext connection. While many connections are silent,
    // the oldest are closed earlier.
    std::chrono::milliseconds io_timeout{10'000};
    // A gRPC connection, but of kControl, is a newcomer until SetKnown. It ends after this time.
    std::chrono::milliseconds newcomer_timeout{30'000};
  };

  // The functions may use *acceptor.
  // IOError: no thread or descriptor is left, or a descriptor of `listeners` is invalid.
  static Status Open(Options options, std::unique_ptr<Acceptor>* acceptor);
  ~Acceptor();  // Closes.
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Closes the listeners and the connections whose kind is not known yet. The others stay.
  void Stop();
  // Also shuts down the gRPC connections. Stop and Close are idempotent, and called by one thread
  // at a time.
  void Close();

  // A call of this peer ("ipv4:127.0.0.1:4711") was accepted. Never blocks.
  void SetKnown(std::string_view peer);

  // For tests and metrics: the gRPC connections that are open.
  size_t grpc_connections() const;
  size_t max_grpc() const;  // After the lowering.
  size_t max_http() const;  // The same, of each kind.

 private:
  class Impl;
  explicit Acceptor(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace wq
