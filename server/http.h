// Http: reads, checks and answers one HTTP/1.1 request on a connected socket. Wraps cpp-httplib.
//
//   Http http({.check_host = true, .max_request_bytes = 65536, .io_timeout = 10s});
//   http.Get("/healthz", [](const std::string&) { return HttpReply{.body = "ok\n"}; });
//   http.Answer(fd);
//
// cpp-httplib parses and routes. The sockets are read and written here, because it limits neither
// the time that a client takes for one request, nor the bytes of a request without a length.
// Threading: Answer is thread-safe after the last call of Get and Post.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace wq {

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class Http {
 public:
  struct Options {
    bool check_host = false;  // Refuse requests whose Host is not localhost, 127.x.y.z or [::1].
    // Makes the answer to a request that no handler is for: `request` is "GET /path".
    std::function<HttpReply(const std::string& request)> not_found;
    size_t max_request_bytes = 0;
    std::chrono::milliseconds io_timeout{0};
  };
  using Handler = std::function<HttpReply(const std::string& body)>;

  explicit Http(const Options& options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  void Get(const std::string& path, Handler handler);
  void Post(const std::string& path, Handler handler);  // Accepts application/json only.

  // Does not close `fd`. Blocks: for at most io_timeout to read and io_timeout to write, and for
  // the handler.
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

}  // namespace wq
