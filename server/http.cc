#include "server/http.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <string_view>

#include "server/socket.h"

namespace wq {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The rest of a request is read and discarded before the connection is closed: closing it with
// unread bytes would reset it, and the answer would be lost.
constexpr auto kLingerTime = std::chrono::milliseconds{500};
constexpr size_t kLingerBytes = size_t{1} << 20;

// The stream of a request and its answer: limits the bytes of the request, and the time of both.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int fd, size_t max_bytes, std::chrono::milliseconds timeout)
      : fd_(fd),
        left_(max_bytes),
        timeout_(timeout),
        read_deadline_(SteadyClock::now() + timeout) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }

  ssize_t read(char* to, size_t size) override {
    if (begin_ == end_ && !Fill()) {
      return failed_ ? -1 : 0;
    }
    const size_t n = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, n, to);
    begin_ += n;
    return static_cast<ssize_t>(n);
  }

  ssize_t write(const char* from, size_t size) override {
    if (!writing_) {
      writing_ = true;
      write_deadline_ = SteadyClock::now() + timeout_;
    }
    return SendAll(fd_, {from, size}, write_deadline_) ? static_cast<ssize_t>(size) : -1;
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override { ClearAddress(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ClearAddress(ip, port); }
  // Any small number: the library refuses descriptors that select() cannot take, but calls no
  // select() here.
  socket_t socket() const override { return 0; }

 private:
  static void ClearAddress(std::string& ip, int& port) {
    ip.clear();
    port = 0;
  }

  // False at the end of the stream; failed_ is set after an error, the deadline, or the limit of
  // bytes.
  bool Fill() {
    begin_ = end_ = 0;
    const ssize_t n = left_ == 0 ? -1
                                 : ReceiveSome(fd_, buffer_.data(), std::min(buffer_.size(), left_),
                                               read_deadline_);
    failed_ = n < 0;
    if (n <= 0) {
      return false;
    }
    end_ = static_cast<size_t>(n);
    left_ -= end_;
    return true;
  }

  const int fd_;
  size_t left_;
  const std::chrono::milliseconds timeout_;
  const SteadyClock::time_point read_deadline_;
  SteadyClock::time_point write_deadline_;
  bool writing_ = false;
  bool failed_ = false;
  std::array<char, 8192> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

// The constructor of httplib's server makes the process ignore SIGPIPE. This restores the program's
// own handler; sockets are written with MSG_NOSIGNAL.
class KeepSigpipe {
 public:
  KeepSigpipe() { sigaction(SIGPIPE, nullptr, &before_); }
  ~KeepSigpipe() { sigaction(SIGPIPE, &before_, nullptr); }
  KeepSigpipe(const KeepSigpipe&) = delete;
  KeepSigpipe& operator=(const KeepSigpipe&) = delete;

 private:
  struct sigaction before_ = {};
};

void SetReply(const HttpReply& reply, httplib::Response* response) {
  response->status = reply.status;
  response->set_content(reply.body, reply.type);
}

}  // namespace

class Http::Library final : private httplib::Server {
 public:
  static std::unique_ptr<Library> Make(const Http::Options& options) {
    const KeepSigpipe keep;
    return std::make_unique<Library>(options);
  }
  explicit Library(const Http::Options& options) {
    set_payload_max_length(options.max_request_bytes);
    set_pre_routing_handler([check_host = options.check_host](const httplib::Request& request,
                                                              httplib::Response& response) {
      const HttpReply reply = Check(request, check_host);
      if (reply.status == 200) {
        return HandlerResponse::Unhandled;
      }
      SetReply(reply, &response);
      return HandlerResponse::Handled;
    });
    set_error_handler([not_found = options.not_found](const httplib::Request& request,
                                                      httplib::Response& response) {
      if (response.status == 404 && response.body.empty()) {
        SetReply(not_found(request.method + " " + request.path), &response);
      } else if (response.body.empty()) {
        response.set_content(std::to_string(response.status) + "\n", "text/plain");
      }
    });
    set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
          SetReply({.status = 500, .body = "internal error\n"}, &response);
        });
    // The library itself adds "Connection: close".
    set_default_headers({{"X-Content-Type-Options", "nosniff"}});
  }

  using httplib::Server::Get;
  using httplib::Server::Post;

  void Process(BoundedStream* stream) {
    bool closed = false;
    process_request(*stream, true, closed, [](httplib::Request& request) {
      // Partial and compressed answers are not needed; without them less of the library's code is
      // exposed.
      request.ranges.clear();
      request.headers.erase("Accept-Encoding");
    });
  }

 private:
  // Checks a request before its body is read. Status 200: it is accepted.
  static HttpReply Check(const httplib::Request& request, bool check_host) {
    if (check_host && (request.get_header_value_count("Host") != 1 ||
                       !IsLoopbackHost(request.get_header_value("Host")))) {
      return {.status = 403, .body = "the Host header does not name this machine\n"};
    }
    if (request.method == "GET" || request.method == "HEAD") {
      return {};
    }
    if (request.method != "POST") {
      return {.status = 405, .body = "only GET, HEAD and POST\n"};
    }
    if (request.has_header("Transfer-Encoding") || !request.has_header("Content-Length")) {
      return {.status = 411, .body = "Content-Length is missing\n"};
    }
    const std::string type = request.get_header_value("Content-Type");
    if (request.has_header("Content-Encoding") ||
        type.substr(0, type.find(';')) != "application/json") {
      return {.status = 415, .body = "Content-Type must be application/json\n"};
    }
    return {};
  }
};

Http::Http(const Options& options) : options_(options), library_(Library::Make(options)) {}
Http::~Http() = default;

void Http::Get(const std::string& path, Handler handler) {
  library_->Get(
      path, [handler = std::move(handler)](const httplib::Request&, httplib::Response& response) {
        SetReply(handler({}), &response);
      });
}

void Http::Post(const std::string& path, Handler handler) {
  library_->Post(path, [handler = std::move(handler)](const httplib::Request& request,
                                                      httplib::Response& response) {
    SetReply(handler(request.body), &response);
  });
}

void Http::Answer(int fd) const {
  BoundedStream stream(fd, options_.max_request_bytes, options_.io_timeout);
  library_->Process(&stream);
  shutdown(fd, SHUT_WR);
  const auto deadline = SteadyClock::now() + std::min(kLingerTime, options_.io_timeout);
  std::array<char, 8192> rest;
  for (size_t seen = 0; seen < kLingerBytes;) {
    const ssize_t n = ReceiveSome(fd, rest.data(), rest.size(), deadline);
    if (n <= 0) {
      return;
    }
    seen += static_cast<size_t>(n);
  }
}

void Http::Refuse(int fd) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 21\r\n"
      "Content-Type: text/plain\r\n\r\ntoo many connections\n";
  // The socket's buffer is empty, so it takes the whole answer.
  static_cast<void>(send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(fd, SHUT_WR);
}

bool IsLoopbackHost(const std::string& host) {
  std::string name = host;
  if (name.starts_with('[')) {
    const size_t end = name.find(']');
    if (end == std::string::npos) {
      return false;
    }
    const std::string port = name.substr(end + 1);
    return name.substr(0, end + 1) == "[::1]" && (port.empty() || port.front() == ':');
  }
  name = name.substr(0, name.find(':'));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  in_addr address = {};
  return name == "localhost" ||
         (inet_pton(AF_INET, name.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

}  // namespace wq
