#include "server/http/http_connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <utility>

#include "server/net/socket.h"

namespace wq {
namespace {

namespace asio = boost::asio;
using boost::beast::http::verb;
using std::chrono::milliseconds;

constexpr auto kLingerTime = milliseconds{500};
constexpr size_t kLingerBytes = size_t{1} << 20;
// What is kept of a client that sends its next requests before the answer. Beyond that its end is
// not seen before the answer is written.
constexpr size_t kMaxAhead = size_t{16} << 10;
// For clients that do not read, when the server closes.
constexpr auto kCloseTime = milliseconds{1000};

void AppendChunk(std::string_view bytes, std::string* out) {
  if (bytes.empty()) {  // It would be the last one.
    return;
  }
  char size[2 * sizeof(size_t)];
  const auto end = std::to_chars(size, size + sizeof(size), bytes.size(), 16);
  out->append(size, end.ptr).append("\r\n").append(bytes).append("\r\n");
}

}  // namespace

HttpConnection::HttpConnection(HttpConnectionHost* host, Socket socket, const Http* http,
                               Place place)
    : host_(host),
      socket_(std::move(socket)),
      http_(http),
      place_(std::move(place)),
      peer_name_(PeerName(socket_.native_handle())),
      signals_(std::make_shared<Signals>(&host->io())),
      timer_(host->io()) {}

void HttpConnection::Wake(const std::shared_ptr<Signals>& signals) {
  if (!signals->woken.exchange(true)) {
    asio::post(*signals->io, [weak = signals->connection] {
      if (const auto self = weak.lock()) {
        self->OnWake();
      }
    });
  }
}

void HttpConnection::Begin() {
  signals_->connection = weak_from_this();
  parser_ = std::make_unique<RequestParser>(http_->options().max_request_bytes);
  SetDeadline(http_->options().io_timeout);
  Watch();
}

void HttpConnection::End() {
  closing_ = true;
  signals_->gone = true;
  switch (state_) {
    case State::kHandling:
    case State::kClosed:
      return;
    case State::kAnswering:
      return SetDeadline(kCloseTime);
    case State::kStreaming:
      return writing_ ? SetDeadline(kCloseTime) : Pump();
    case State::kLingering:
      return Linger();
    case State::kReading:
      return Close();
  }
}

void HttpConnection::Close() {
  if (state_ == State::kClosed) {
    return;
  }
  const auto self = shared_from_this();  // Remove drops the loop's reference.
  state_ = State::kClosed;
  ++deadline_;
  signals_->gone = true;
  timer_.cancel();
  stream_.reset();
  parser_.reset();
  in_.clear();
  CountPartial();
  ErrorCode ignored;
  socket_.close(ignored);
  host_->Remove(this);
}

// --- Time ---

// When the server closes, the first deadline is that of all that is left to do.
void HttpConnection::SetDeadline(milliseconds timeout) {
  if (closing_ && std::exchange(last_deadline_, true)) {
    return;
  }
  timer_.expires_after(closing_ ? std::min(kCloseTime, timeout) : timeout);
  timer_.async_wait([self = shared_from_this(), mine = ++deadline_](const ErrorCode& error) {
    if (!error && mine == self->deadline_) {
      self->Close();
    }
  });
}

void HttpConnection::ClearDeadline() {
  if (!last_deadline_) {
    ++deadline_;
  }
}

// --- Reading ---

void HttpConnection::Watch() {
  if (watching_ || input_ended_ || state_ == State::kClosed) {
    return;
  }
  watching_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const ErrorCode& error) {
    self->watching_ = false;
    if (!error && self->state_ != State::kClosed) {
      self->OnReadable();
    }
  });
}

void HttpConnection::OnReadable() {
  std::string& buffer = host_->buffer();
  ErrorCode error;
  const size_t n = socket_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block || error == asio::error::try_again) {
    return Watch();
  }
  if (error) {
    input_ended_ = true;
    signals_->gone = true;
    return OnInputEnd();
  }
  if (state_ == State::kLingering) {
    discarded_ += n;
    return discarded_ > kLingerBytes ? Close() : Watch();
  }
  in_.append(buffer, 0, n);
  const bool room = CountPartial();
  if (state_ == State::kReading) {
    return room ? Parse() : Refuse(http_->Refusal(503, "too much of other requests is awaited"));
  }
  if (room && in_.size() < kMaxAhead) {
    return Watch();
  }
  if (state_ == State::kStreaming) {  // It may never end, and the client's end would not be seen.
    Close();
  }
}

bool HttpConnection::CountPartial() {
  const size_t now = in_.size() + (parser_ != nullptr ? parser_->body().size() : 0);
  return host_->CountPartial(std::exchange(partial_, now), now);
}

void HttpConnection::OnInputEnd() {
  switch (state_) {
    case State::kReading:
    case State::kLingering:
      return Close();
    case State::kStreaming:
      stream_.reset();
      return writing_ ? void() : Linger();
    default:
      return;  // The answer that is under way is written.
  }
}

// Of a connection that stays open.
void HttpConnection::BeginRequest() {
  state_ = State::kReading;
  parser_ = std::make_unique<RequestParser>(http_->options().max_request_bytes);
  host_->SetAwaiting(this, true);
  if (!in_.empty()) {
    SetDeadline(http_->options().io_timeout);
    return Parse();
  }
  in_.shrink_to_fit();  // It may be idle for long.
  out_.shrink_to_fit();
  idle_ = true;
  SetDeadline(known_ ? http_->options().idle_timeout
                     : std::min(http_->options().idle_timeout, http_->options().io_timeout));
  Watch();
}

void HttpConnection::Parse() {
  if (idle_) {
    idle_ = false;
    host_->SetAwaiting(this, true);  // Those that send nothing are closed before it.
    SetDeadline(http_->options().io_timeout);
  }
  switch (parser_->Read(&in_)) {
    case RequestParser::Next::kMore:
      return Watch();
    case RequestParser::Next::kHead:
      return OnHead();
    case RequestParser::Next::kWhole:
      return Handle();
    case RequestParser::Next::kBad:
      return Refuse(http_->Refusal(*parser_));
  }
}

void HttpConnection::OnHead() {
  HttpHead& head = parser_->head();
  std::string message;
  if (const int status = http_->Check(head, &message); status != 0) {
    return Refuse(http_->Refusal(status, message));
  }
  if (head.method() != verb::post) {
    return Handle();
  }
  if (head.is_http11() && head.count("Expect") > 0 && parser_->awaits_body() && in_.empty()) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    ErrorCode ignored;
    socket_.write_some(asio::buffer(kContinue), ignored);  // A client that waits has read all.
  }
  Parse();
}

// --- Handlers ---

void HttpConnection::Refuse(const HttpReply& reply) {
  host_->SetAwaiting(this, false);
  keep_open_ = false;
  head_only_ = parser_->head().method() == verb::head;
  parser_.reset();
  in_.clear();
  CountPartial();
  Answer(reply);
}

void HttpConnection::Handle() {
  auto task = std::make_shared<Task>();
  task->head = std::move(parser_->head());
  task->body = std::move(parser_->body());
  task->path = PathOf(task->head.target().to_string());
  task->peer = peer_name_;
  parser_.reset();
  CountPartial();
  host_->SetAwaiting(this, false);
  keep_open_ = http_->PermitsNext(task->head) && !input_ended_ && !closing_ && !place_.spare;
  head_only_ = task->head.method() == verb::head;
  state_ = State::kHandling;
  ClearDeadline();
  const std::string method = task->head.method_string().to_string();
  const Http::Route* const route = http_->Find(method, task->path);
  if (route == nullptr) {
    return Answer(http_->NotFound(method + " " + task->path));
  }
  if (place_.spare && route->run != HttpRun::kReserve && route->run != HttpRun::kOnLoop) {
    return Answer(http_->Refusal(503, "too many connections"));
  }
  if (route->run == HttpRun::kOnLoop) {
    return OnReply(route, Call(*route, *task));
  }
  const bool runs = host_->Run(
      route->run, task->body.size() + sizeof(Task), [self = shared_from_this(), route, task] {
        HttpReply reply = self->Call(*route, *task);
        asio::post(self->host_->io(), [self, route, reply = std::move(reply)]() mutable {
          self->OnReply(route, std::move(reply));
        });
      });
  if (!runs) {
    return Answer(http_->Refusal(503, "too many calls wait"));
  }
  Watch();
}

HttpReply HttpConnection::Call(const Http::Route& route, const Task& task) const {
  try {
    HttpReply reply = route.handler({.body = task.body,
                                     .authorization = HeaderOf(task.head, "Authorization"),
                                     .peer = task.peer,
                                     .path = task.path,
                                     .cookie = CookiesOf(task.head),
                                     .if_none_match = HeaderOf(task.head, "If-None-Match"),
                                     .gone = [signals = signals_] { return signals->gone.load(); },
                                     .wake = [signals = signals_] { Wake(signals); }});
    if (reply.stream != nullptr && !task.head.is_http11()) {
      return http_->Refusal(505, "a stream needs HTTP/1.1");
    }
    return reply;
  } catch (const std::exception&) {
    return http_->Refusal(500, "internal error");
  }
}

void HttpConnection::OnReply(const Http::Route* route, HttpReply reply) {
  if (state_ != State::kHandling) {
    return;
  }
  if (!known_ && route->run != HttpRun::kOnLoop && reply.status != 401 && reply.status != 403) {
    known_ = true;
    host_->SetKnown(this);
  }
  Answer(std::move(reply));
}

// --- Writing ---

void HttpConnection::Answer(HttpReply reply) {
  state_ = State::kAnswering;
  out_ = http_->AnswerHead(reply, keep_open_ && !closing_);
  if (head_only_) {
    reply.stream.reset();
  } else if (reply.stream == nullptr && reply.status != 304) {
    out_ += reply.body;
  }
  stream_ = std::move(reply.stream);
  stream_ended_ = false;
  Write();
}

void HttpConnection::Write() {
  SetDeadline(http_->options().io_timeout);
  writing_ = true;
  asio::async_write(socket_, asio::buffer(out_),
                    [self = shared_from_this()](const ErrorCode& error, size_t) {
                      self->writing_ = false;
                      if (self->state_ != State::kClosed) {
                        self->OnWritten(error);
                      }
                    });
}

void HttpConnection::OnWritten(const ErrorCode& error) {
  ClearDeadline();
  out_.clear();
  if (error) {
    return Close();
  }
  if (state_ == State::kAnswering && stream_ == nullptr) {
    return AfterAnswer();
  }
  if (state_ == State::kStreaming && stream_ended_) {
    return AfterAnswer();
  }
  state_ = State::kStreaming;
  if (input_ended_) {
    stream_.reset();
    return Linger();
  }
  Watch();
  Pump();
}

void HttpConnection::AfterAnswer() {
  stream_.reset();
  if (keep_open_ && !input_ended_ && !closing_) {
    BeginRequest();
  } else {
    Linger();
  }
}

void HttpConnection::OnWake() {
  signals_->woken = false;
  if (state_ == State::kStreaming && !writing_ && stream_ != nullptr) {
    Pump();
  }
}

void HttpConnection::Pump() {
  std::string bytes;
  const HttpStream::Next next = stream_->Take(&bytes);
  stream_ended_ = next == HttpStream::Next::kEnd;
  AppendChunk(bytes, &out_);
  if (stream_ended_) {
    stream_.reset();
    out_ += "0\r\n\r\n";
  }
  if (!out_.empty()) {
    return Write();
  }
  if (closing_) {
    Close();
  } else if (next == HttpStream::Next::kMore) {
    Wake(signals_);
  } else {
    out_.shrink_to_fit();  // It may be silent for long.
  }
}

void HttpConnection::Linger() {
  state_ = State::kLingering;
  out_.shrink_to_fit();
  in_.clear();
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  if (input_ended_) {
    return Close();
  }
  if (closing_) {  // Nothing is awaited, but what is here must not reset the connection.
    ErrorCode error;
    for (size_t n = 0; n < kLingerBytes && !error;) {
      n += socket_.read_some(asio::buffer(host_->buffer()), error);
    }
    return Close();
  }
  SetDeadline(std::min(kLingerTime, http_->options().io_timeout));
  Watch();
}

}  // namespace wq
