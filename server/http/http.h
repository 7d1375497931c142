// Http: reads, checks and answers the HTTP/1.1 requests on a connected socket. Wraps cpp-httplib.
//
//   Http http({.check_host = true, .max_request_bytes = 65536, .io_timeout = 10s});
//   http.Get("/healthz", [](const HttpRequest&) { return HttpReply{.body = "ok\n"}; });
//   http.Answer(fd);
//
// cpp-httplib parses and writes. The sockets are read and written here, because it limits neither
// the time that a client takes for one request, nor the bytes of a request without a length.
// Requests are routed here, because it compares a path with a regular expression for each handler.
// Threading: Answer is thread-safe after the last call of Get, Post, GetStream and PostStream.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wq {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Headers are empty if the request does not have them.
struct HttpRequest {
  const std::string& body;
  const std::string authorization;
  const std::string& peer;        // See PeerName.
  const std::string path = {};    // Decoded.
  const std::string query = {};   // Behind the '?', not decoded. See QueryValue.
  const std::string cookie = {};  // All Cookie headers, joined by "; ".
  const std::string if_none_match = {};
  // Whether the client has closed the connection, or its sending side, or the server is closing.
  const std::function<bool()> gone = nullptr;
  // Who the client is, as Guarded has found out. See Caller.
  std::string_view role = {};
  std::string token = {};
};

// The answer of a request while it is sent in parts. Used by the connection's thread alone.
class HttpWriter {
 public:
  virtual ~HttpWriter() = default;
  // False: the client has closed the connection, or took none of the bytes for io_timeout, or the
  // server is closing. Blocks: for at most io_timeout.
  virtual bool Write(std::string_view bytes) = 0;
  // Waits until `fd` is readable. False: the client has closed the connection or its sending side,
  // or the server is closing. Blocks: without a limit.
  virtual bool WaitFor(int fd) = 0;
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  HttpHeaders headers = {};  // Beside those of Http::Options.
  // Writes the answer in place of `body`, in chunks. Is destroyed after its call, or without a call
  // if the answer's headers cannot be sent.
  std::function<void(HttpWriter* writer)> stream = nullptr;
};

class Http {
 public:
  struct Options {
    // Refuse requests whose Host is not localhost, 127.x.y.z or [::1], and those of web pages:
    // with the header Origin.
    bool check_host = false;
    // Accept the requests of web pages that this server has served: those whose Origin is their
    // Host. Others with an Origin are refused, whatever check_host is.
    bool own_pages = false;
    // Makes the answer to a request that no handler is for: `request` is "GET /path".
    std::function<HttpReply(const std::string& request)> not_found = nullptr;
    // Makes the answer to a request that is refused before it reaches a handler. nullptr: the
    // message as text.
    std::function<HttpReply(int status, const std::string& message)> refused = nullptr;
    size_t max_request_bytes = 0;
    std::chrono::milliseconds io_timeout{0};
    // How long a connection stays open after an answer for the next request. 0: it is closed.
    std::chrono::milliseconds idle_timeout{0};
    // Of every answer that does not set them itself.
    HttpHeaders headers = {};
  };
  using Handler = std::function<HttpReply(const HttpRequest& request)>;

  explicit Http(const Options& options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  void Get(const std::string& path, Handler handler);
  void Post(const std::string& path, Handler handler);  // Accepts application/json only.
  // The same for handlers whose answer is a stream, which has its connection for long. Beyond
  // LimitStreams they are answered with 503, and the handler is not called.
  void GetStream(const std::string& path, Handler handler);
  void PostStream(const std::string& path, Handler handler);
  // Streams may have three quarters of so many connections, and one in any case. Before the first
  // call there is no limit. Thread-safe.
  void LimitStreams(size_t max_connections);

  // Answers requests until the client, the server (by shutdown(2) of the reading side) or a timeout
  // ends the connection. Does not close `fd`. Blocks: for each request for at most idle_timeout
  // until its first byte, io_timeout to read it and for each write, and for the handler.
  void Answer(int fd) const;
  // Answers 503 without reading the request. Does not block.
  static void Refuse(int fd);

 private:
  class Library;
  const Options options_;
  const std::unique_ptr<Library> library_;
};

// Whether the value of a Host header names this machine's loopback.
bool IsLoopbackHost(const std::string& host);
// The value of `name` in "a=1&b=%20", decoded; the first of several; "" if there is none.
std::string QueryValue(std::string_view query, std::string_view name);

}  // namespace wq
