// HttpLoop: reads the requests on HTTP/1.1 connections, lets handlers answer them, and writes the
// answers.
//
//   std::unique_ptr<HttpLoop> loop;
//   Status s = HttpLoop::Open({}, &loop);
//   loop->Serve(std::move(fd), &http);  // From the thread that accepts connections.
//   …
//   loop->Close();
//
// One thread owns all connections, so a connection costs a descriptor and some memory, and no
// thread: see HttpConnection. Handlers run on threads of their own, which are started when they are
// needed, those of HttpRun::kChange and kReserve on some that nothing else takes. An idle loop does
// not wake up.
//
// A connection is a newcomer until one of its requests has reached a handler (but of
// HttpRun::kOnLoop) and was not answered with 401 or 403. Nobody is shut out by connections that
// ask nothing: newcomers have a deadline; of those of one peer, beyond a limit the oldest is
// closed; and beyond the limit of all connections the oldest newcomer is, or else the one whose
// next request is awaited for the longest time, also if a part of it is here. If there is none, the
// new connection gets one of a few spare places: there HttpRun::kReserve and kOnLoop are answered,
// and all other requests are refused with 503. So health is answered in any case.
// Threading: thread-safe. Lifetime: what the handlers use outlives Close.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/files.h"
#include "server/http/http.h"
#include "server/http/http_connection.h"
#include "server/net/executor.h"
#include "wq/status.h"

namespace wq {

class HttpLoop final : private HttpConnectionHost {
 public:
  struct Options {
    // Bounds the connections of one Http.
    size_t max_connections = 10'000;
    // Bounds the newcomers of one peer, which are those with one address, or one process. Half of
    // max_connections, if that is less.
    size_t max_newcomers = 4000;
    // Handlers of kThread that run at once, and of kChange. Further ones wait, with so many bytes
    // of requests in all; more are refused with 503.
    int max_threads = 64;
    size_t max_waiting_bytes = size_t{64} << 20;
    // Bounds what was received of requests that are not whole yet, of all connections: bodies come
    // before anybody has seen a token. A request that exceeds it is refused with 503.
    size_t max_partial_bytes = size_t{256} << 20;
  };
  static constexpr size_t kSpare = 16;  // Places beyond max_connections.

  // IOError: no thread or descriptor is left.
  static Status Open(const Options& options, std::unique_ptr<HttpLoop>* loop);
  ~HttpLoop() override;  // Closes.
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // Serves the client at the other end of the connected socket. Borrows `http`. After Close the
  // socket is closed. Does not block.
  void Serve(FileDescriptor fd, const Http* http);
  // Changes Options::max_connections of what is served from now on.
  void Limit(size_t max_connections) { max_connections_ = max_connections; }
  // Ends all connections. Requests that were read get their answer, and streams what they have to
  // send now. Blocks: until the handlers have returned, and for a second at most for clients that
  // do not read. Idempotent; called by one thread at a time.
  void Close();

  size_t connections() const { return count_; }  // For tests.

 private:
  using Connections = std::map<uint64_t, HttpConnection*>;  // The oldest first.
  struct Group {
    size_t count = 0;       // Without the spare ones.
    Connections newcomers;  // Of `count`.
    Connections awaiting;   // Their next request, by the time since when; not the first one.
    Connections spare;
  };

  explicit HttpLoop(const Options& options);
  void Add(FileDescriptor fd, const Http* http);
  static bool CloseOldest(const Connections& connections);
  void CloseAll();

  boost::asio::io_context& io() override { return io_; }
  std::string& buffer() override { return buffer_; }
  bool Run(HttpRun run, size_t bytes, std::function<void()> job) override;
  bool CountPartial(size_t before, size_t now) override;
  void SetAwaiting(HttpConnection* connection, bool awaiting) override;
  void SetKnown(HttpConnection* connection) override;
  void Remove(HttpConnection* connection) override;

  const Options options_;
  std::atomic<size_t> max_connections_;
  std::atomic<size_t> count_ = 0;
  std::atomic<bool> closed_ = false;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::thread thread_;

  // Used by the loop's thread only.
  std::string buffer_;
  uint64_t next_id_ = 0;
  bool closing_ = false;
  size_t partial_bytes_ = 0;
  std::unordered_map<HttpConnection*, std::shared_ptr<HttpConnection>> connections_;
  std::map<const Http*, Group> groups_;
  std::map<std::string, Connections> newcomers_;  // By peer.

  // End first, with their jobs.
  Executor readings_;
  Executor changes_;
  Executor reserve_;
};

}  // namespace wq
