// Http: one HTTP/1.1 request on a connected socket, read, checked and answered. cpp-httplib behind an
// interface of our own.
//
//   Http http({.check_host = true, .max_request_bytes = 65536, .io_timeout = 10s});
//   http.Get("/healthz", [](const std::string&) { return HttpReply{.body = "ok\n"}; });
//   http.Answer(fd);
//
// The library parses and routes. The sockets are ours, since it has no bound on the time that a client
// takes to say one request, nor on the bytes of one that names no length.
// Threading: Get and Post first; Answer is thread-safe then.
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
    bool check_host = false;  // Only requests that call us localhost, 127.x.y.z or [::1].
    size_t max_request_bytes = 0;
    std::chrono::milliseconds io_timeout{0};
  };
  using Handler = std::function<HttpReply(const std::string& body)>;

  explicit Http(const Options& options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  void Get(const std::string& path, Handler handler);
  void Post(const std::string& path, Handler handler);  // Takes application/json only.

  // Does not close `fd`. Blocks: for io_timeout, and for the handler.
  void Answer(int fd) const;
  // 503, without reading. Does not block.
  static void Refuse(int fd);

 private:
  class Library;
  const Options options_;
  const std::unique_ptr<Library> library_;
};

// Whether a Host header's value names this machine itself.
bool IsLoopbackHost(const std::string& host);

}  // namespace wq
