// HttpConnection: one connection of an HttpLoop, from its acceptance to its end.
//
//   kReading    a request is being read, or awaited
//   kHandling   its handler runs
//   kAnswering  the answer, or the head of a stream's, is being written
//   kStreaming  the stream has nothing to send, or a part of it is being written
//   kLingering  all is written; what the client still sends is discarded, as closing a socket with
//               unread bytes would reset it, and the answer would be lost
//   kClosed
//
// While a handler runs and while a stream is open, the socket is read too, to see that the client
// is gone; what it sends before its answer is kept, up to a limit.
// Threading: used by the loop's thread only, but for Signals.
#pragma once

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/http/http.h"
#include "server/http/request_parser.h"

namespace wq {

class HttpConnection;

// What a connection needs of its loop.
class HttpConnectionHost {
 public:
  virtual ~HttpConnectionHost() = default;
  virtual boost::asio::io_context& io() = 0;
  // For the bytes of one read.
  virtual std::string& buffer() = 0;
  // Runs a handler's job. False: too many wait.
  virtual bool Run(HttpRun run, size_t bytes, std::function<void()> job) = 0;
  // A connection holds `now` bytes of requests that are not whole, and held `before`. False: all
  // of them hold too many.
  virtual bool CountPartial(size_t before, size_t now) = 0;
  // The connection has begun to await its next request, or the request, or a part of it, has come;
  // it has become known; has ended.
  virtual void SetAwaiting(HttpConnection* connection, bool awaiting) = 0;
  virtual void SetKnown(HttpConnection* connection) = 0;
  virtual void Remove(HttpConnection* connection) = 0;
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  struct Place {
    uint64_t id = 0;  // Those of later connections are greater.
    std::string peer;
    bool spare = false;  // See HttpLoop.
  };

  HttpConnection(HttpConnectionHost* host, Socket socket, const Http* http, Place place);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void Begin();
  // The server closes.
  void End();
  void Close();  // At once.

  uint64_t id() const { return place_.id; }
  const Http* http() const { return http_; }
  const std::string& peer() const { return place_.peer; }
  bool spare() const { return place_.spare; }
  // Whether no request of it is being handled or answered, so that it may be closed to make room.
  bool may_be_closed() const { return state_ == State::kReading || state_ == State::kLingering; }

  uint64_t awaiting_since = 0;  // Of the host.

 private:
  using ErrorCode = boost::system::error_code;
  enum class State : uint8_t { kReading, kHandling, kAnswering, kStreaming, kLingering, kClosed };

  // What other threads use.
  struct Signals {
    explicit Signals(boost::asio::io_context* context) : io(context) {}
    boost::asio::io_context* const io;
    std::weak_ptr<HttpConnection> connection;
    std::atomic<bool> gone = false;
    std::atomic<bool> woken = false;  // OnWake will be called.
  };
  static void Wake(const std::shared_ptr<Signals>& signals);

  // A request that was read, for its handler.
  struct Task {
    HttpHead head;
    std::string path;
    std::string body;
    std::string peer;
  };

  void SetDeadline(std::chrono::milliseconds timeout);
  void ClearDeadline();
  void Watch();
  void OnReadable();
  void OnInputEnd();
  void BeginRequest();
  bool CountPartial();  // As of the host.
  void Parse();
  void OnHead();
  void Handle();
  HttpReply Call(const Http::Route& route, const Task& task) const;
  void Refuse(const HttpReply& reply);
  void OnReply(const Http::Route* route, HttpReply reply);
  void Answer(HttpReply reply);
  void Write();
  void OnWritten(const ErrorCode& error);
  void AfterAnswer();
  void OnWake();
  void Pump();
  void Linger();

  HttpConnectionHost* const host_;
  Socket socket_;
  const Http* const http_;
  const Place place_;
  const std::string peer_name_;
  const std::shared_ptr<Signals> signals_;
  State state_ = State::kReading;
  boost::asio::steady_timer timer_;
  uint64_t deadline_ = 0;  // Counts the deadlines, so that one that was changed does nothing.

  std::string in_;      // What was read and not parsed.
  size_t partial_ = 0;  // As the host has counted it.
  bool watching_ = false;
  bool input_ended_ = false;  // The client sends nothing more.
  bool idle_ = false;         // No byte of the next request is here.
  std::unique_ptr<RequestParser> parser_;
  bool keep_open_ = false;
  bool head_only_ = false;
  size_t discarded_ = 0;

  std::string out_;
  bool writing_ = false;
  std::shared_ptr<HttpStream> stream_;
  bool stream_ended_ = false;   // Its last part is being written.
  bool closing_ = false;        // The server closes.
  bool last_deadline_ = false;  // That of the server's closing is set.
  bool known_ = false;
};

}  // namespace wq
