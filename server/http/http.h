// Http: what is served to the HTTP/1.1 requests of one kind of listener: handlers by path, which
// requests are refused, and the form of answers. An HttpLoop reads the requests and writes the
// answers.
//
//   Http http({.check_host = true, .max_request_bytes = 65536, .io_timeout = 10s});
//   http.Get("/healthz", [](const HttpRequest&) { return HttpReply{.body = "ok\n"}; },
//            HttpRun::kOnLoop);
//   loop->Serve(std::move(fd), &http);
//
// Threading: thread-safe after the last call of Get and Post.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wq {

struct HttpHead;
class RequestParser;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Headers are empty if the request does not have them.
struct HttpRequest {
  const std::string& body;
  const std::string authorization;
  const std::string& peer;        // See PeerName.
  const std::string path = {};    // Decoded.
  const std::string cookie = {};  // All Cookie headers, joined by "; ".
  const std::string if_none_match = {};
  // Whether the client has closed the connection, or its sending side, or the server is closing.
  const std::function<bool()> gone = nullptr;
  // Who the client is, as Guarded has found out. See Caller.
  std::string_view role = {};
  std::string token = {};
  // For the stream of the answer, which keeps it: HttpStream::Take may return something now.
  // Thread-safe. Never blocks, and never calls the stream. Not called after the stream's end.
  const std::function<void()> wake = nullptr;
};

// An answer that is made while it is sent. The loop makes its calls, one at a time. The destructor
// ends it: the client is gone, the server closes, or Take has returned kEnd.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  enum class Next : uint8_t { kMore, kNothing, kEnd };
  // Appends what is to be sent now to `bytes`, which is empty. kMore: there may be more, so it is
  // called again when the client has taken these. kNothing: not before the next wake. kEnd: the
  // answer ends behind these. Does not block.
  virtual Next Take(std::string* bytes) = 0;
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  HttpHeaders headers = {};  // Beside those of Http::Options.
  // Makes the answer in place of `body`, which is sent in chunks.
  std::shared_ptr<HttpStream> stream = nullptr;
};

// Where a handler runs.
enum class HttpRun : uint8_t {
  kThread,   // On a thread of its own: it may wait for the disk.
  kChange,   // The same, on a thread that no handler of kThread takes.
  kReserve,  // On a thread that no call takes: it blocks for short times only.
  kOnLoop,   // On the loop: it never blocks, and anybody may ask.
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
    // Bounds the time from the connection to the last byte of its request, and again the time in
    // which the client takes the answer, or a part of a stream.
    std::chrono::milliseconds io_timeout{0};
    // How long a connection stays open after an answer for the next request. 0: it is closed.
    std::chrono::milliseconds idle_timeout{0};
    // Of every answer that does not set them itself.
    HttpHeaders headers = {};
  };
  using Handler = std::function<HttpReply(const HttpRequest& request)>;

  explicit Http(const Options& options) : options_(options) {}
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  void Get(const std::string& path, Handler handler, HttpRun run = HttpRun::kThread);
  // Accepts application/json only.
  void Post(const std::string& path, Handler handler, HttpRun run = HttpRun::kThread);

  // For the loop.
  struct Route {
    Handler handler;
    HttpRun run;
  };
  // nullptr: the path has none.
  const Route* Find(std::string_view method, std::string_view path) const;
  // Checks a request before its body is read. Returns 0: it is accepted; or the status of the
  // refusal.
  int Check(const HttpHead& head, std::string* message) const;
  // Whether the connection may stay open for another request.
  bool PermitsNext(const HttpHead& head) const;
  HttpReply Refusal(int status, const std::string& message) const;
  HttpReply Refusal(const RequestParser& bad) const;
  HttpReply NotFound(const std::string& request) const { return options_.not_found(request); }
  // The status line and the headers, also of what the answer's body needs.
  std::string AnswerHead(const HttpReply& reply, bool keep_open) const;
  const Options& options() const { return options_; }

 private:
  using Routes = std::map<std::string, Route, std::less<>>;
  const Options options_;
  Routes get_;
  Routes post_;
};

// Whether the value of a Host header names this machine's loopback.
bool IsLoopbackHost(const std::string& host);
// A path as handlers have it.
std::string PathOf(std::string_view target);
// Of the first of these headers; "" if there is none.
std::string HeaderOf(const HttpHead& head, const char* name);
std::string CookiesOf(const HttpHead& head);

}  // namespace wq
