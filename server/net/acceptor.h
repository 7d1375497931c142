// Acceptor: accepts the connections of all listeners, decides whether each is gRPC or HTTP/1.1, and
// limits their number.
//
//   std::unique_ptr<Acceptor> acceptor;
//   Status s = Acceptor::Open({.listeners = std::move(listeners),
//                              .grpc = [&](FileDescriptor fd, ListenerKind kind) { … },
//                              .http = [&](FileDescriptor fd, ListenerKind kind) { … }},
//                             &acceptor);
//
// A plaintext connection of HTTP/2 begins with "PRI ", so its first four bytes are inspected and
// left in the socket. One thread accepts. An idle server with any number of connections does not
// wake up: the kernel notices peers that are gone (TCP keepalive), and gRPC calls shutdown(2) when
// it closes a connection, which is seen through a duplicate of its descriptor.
// Threading: thread-safe. Lifetime: what the functions use must outlive Close.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
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
    std::function<void(FileDescriptor fd, ListenerKind kind)> grpc = nullptr;
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
  void SetKnown(std::string_view peer) WQ_EXCLUDES(mu_);

  // For tests and metrics: the gRPC connections that are open.
  size_t grpc_connections() const { return grpc_count_; }
  size_t max_grpc() const { return max_grpc_; }  // After the lowering.
  size_t max_http() const { return max_http_; }  // The same, of each kind.

 private:
  static constexpr size_t kKinds = 4;
  struct Pending {
    FileDescriptor fd;
    std::chrono::steady_clock::time_point deadline;
  };
  struct Grpc {
    FileDescriptor fd;  // A duplicate.
    ListenerKind kind;
    std::string address;  // Of the peer; empty: it is not bounded.
  };
  struct Newcomer {
    std::string port;  // Of the peer.
    std::chrono::steady_clock::time_point deadline;
  };
  static size_t IndexOf(ListenerKind kind) { return static_cast<size_t>(kind); }

  explicit Acceptor(Options options) : options_(std::move(options)) {}
  Status Start();
  void SetLimits();
  void Run();
  void AcceptFrom(const Listener& listener);
  void Classify(FileDescriptor fd, ListenerKind kind);
  void AddPending(FileDescriptor fd, ListenerKind kind);
  void HandlePending(size_t kind, uint64_t id, uint32_t events);
  void CloseExpired() WQ_EXCLUDES(mu_);
  int MillisecondsLeft() WQ_EXCLUDES(mu_);
  void BeginGrpc(FileDescriptor fd, ListenerKind kind);
  bool HasRoom(ListenerKind kind, const std::string& address) const;
  // False: there is none. An empty address is any.
  bool EndOldestNewcomer(ListenerKind kind, const std::string& address) WQ_EXCLUDES(mu_);
  // Both end the connection, and forget it.
  void ShutDownGrpc(uint64_t id) WQ_EXCLUDES(mu_);
  void EndGrpc(uint64_t id) WQ_EXCLUDES(mu_);
  void HandleEvent(uint64_t id, uint32_t events);
  bool Watch(int fd, uint32_t events, uint64_t id) const;
  void Unwatch(int fd) const;

  Options options_;
  size_t max_grpc_ = 0;
  size_t max_http_ = 0;
  size_t max_pending_ = 0;
  FileDescriptor epoll_{-1};
  FileDescriptor stop_{-1};  // An eventfd.
  std::thread thread_;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> grpc_count_ = 0;

  // gRPC writes addresses in a form of its own, so a newcomer is known by its peer's port.
  Mutex mu_;
  std::map<uint64_t, Newcomer> newcomers_ WQ_GUARDED_BY(mu_);  // The oldest first.
  std::unordered_multimap<std::string, uint64_t> newcomer_of_port_ WQ_GUARDED_BY(mu_);
  std::atomic<bool> has_newcomers_ = false;

  // Used by the thread only, and after its end. An id is used once, so that an event of a
  // connection that was closed while handling an earlier event finds nothing. Listeners have the
  // ids from 1.
  uint64_t next_id_ = 0;
  std::array<std::map<uint64_t, Pending>, kKinds> pending_;  // The oldest first.
  std::unordered_map<uint64_t, Grpc> grpc_;
  std::array<size_t, kKinds> grpc_of_kind_ = {};
  std::array<std::map<std::string, size_t>, kKinds> grpc_of_address_;
};

}  // namespace wq
