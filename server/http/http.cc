#include "server/http/http.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "server/http/bounded_stream.h"
#include "server/net/socket.h"

namespace wq {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The rest of a request is read and discarded before the connection is closed: closing it with
// unread bytes would reset it, and the answer would be lost.
constexpr auto kLingerTime = std::chrono::milliseconds{500};
constexpr size_t kLingerBytes = size_t{1} << 20;

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

struct HttpRoute {
  Http::Handler handler;
  bool streams = false;
};
using HttpRoutes = std::map<std::string, HttpRoute, std::less<>>;

// How many streams there are, and may be.
struct StreamPlaces {
  std::atomic<size_t> taken = 0;
  std::atomic<size_t> limit = SIZE_MAX;
};

// A stream's place. nullptr: none is left.
std::shared_ptr<StreamPlaces> TakePlace(StreamPlaces* places) {
  if (places->taken.fetch_add(1) >= places->limit) {
    --places->taken;
    return nullptr;
  }
  return {places, [](StreamPlaces* of) { --of->taken; }};
}

// A connection, and its present request.
struct Exchange {
  BoundedStream stream;
  const std::string peer;

  std::string path = {};
  std::string target = {};           // "GET /path".
  const HttpRoute* route = nullptr;  // nullptr: the path has none.
  int refused = 0;                   // The status of a request that reaches no handler.
  std::string refused_message = {};
  bool permits_next = false;  // The request lets the connection stay open.
  bool keep_open = false;     // The request was read to its end, and the connection stays open.
};

// Of the thread that runs Http::Answer: cpp-httplib passes nothing of ours to its callbacks.
thread_local Exchange* exchange = nullptr;

class ChunkWriter final : public HttpWriter {
 public:
  explicit ChunkWriter(httplib::DataSink* sink) : sink_(sink) {}
  bool Write(std::string_view bytes) override {
    // An empty chunk would end the answer.
    ok_ = ok_ && !exchange->stream.IsClosing() &&
          (bytes.empty() || sink_->write(bytes.data(), bytes.size()));
    return ok_;
  }
  bool WaitFor(int fd) override {
    ok_ = ok_ && exchange->stream.WaitFor(fd);
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  httplib::DataSink* const sink_;
  bool ok_ = true;
};

void SetReply(const HttpReply& reply, httplib::Response* response) {
  response->status = reply.status;
  for (const auto& [name, value] : reply.headers) {
    response->headers.erase(name);  // One of Http::Options.
    response->set_header(name, value);
  }
  if (reply.status == 401) {
    response->set_header("WWW-Authenticate", "Bearer");
  }
  if (reply.stream == nullptr && reply.status == 304) {
    return;
  }
  if (reply.stream == nullptr) {
    response->set_content(reply.body, reply.type);
    return;
  }
  response->set_chunked_content_provider(reply.type,
                                         [stream = reply.stream](size_t, httplib::DataSink& sink) {
                                           ChunkWriter writer(&sink);
                                           stream(&writer);
                                           if (writer.ok()) {
                                             sink.done();
                                           }
                                           return writer.ok();
                                         });
}

// Of the requests that the library refuses.
const char* LibraryMessage(int status) {
  switch (status) {
    case 413:
      return "the request is too long";
    case 414:
      return "the request's path is too long";
    case 416:
      return "the Range header is invalid";
    default:
      return "no valid HTTP request";
  }
}

bool IsDigits(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string Lowercase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::string QueryOf(const std::string& target) {
  const size_t begin = target.find('?');
  return begin == std::string::npos ? ""
                                    : target.substr(begin + 1, target.find('#', begin) - begin - 1);
}

std::string CookiesOf(const httplib::Request& request) {
  std::string all;
  const auto [begin, end] = request.headers.equal_range("Cookie");
  for (auto header = begin; header != end; ++header) {
    all += (all.empty() ? "" : "; ") + header->second;
  }
  return all;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// A '%' without two digits stands for itself.
std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                         HexDigit(text[i + 2]) >= 0;
    if (escaped) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// Whether the connection may stay open for another request. A body that is not read would be taken
// for the next request.
bool PermitsNext(const httplib::Request& request) {
  if (request.version != "HTTP/1.1" ||
      (request.method != "POST" &&
       (request.has_header("Content-Length") || request.has_header("Transfer-Encoding")))) {
    return false;
  }
  const auto [begin, end] = request.headers.equal_range("Connection");
  return std::none_of(begin, end, [](const auto& header) {
    return Lowercase(header.second).find("close") != std::string::npos;
  });
}

bool IsOriginOf(const std::string& origin, const std::string& host) {
  return !host.empty() && (Lowercase(origin) == "http://" + Lowercase(host) ||
                           Lowercase(origin) == "https://" + Lowercase(host));
}

// Whether the request comes from a web page that may not make it.
bool IsOfForeignPage(const httplib::Request& request, const Http::Options& options) {
  const size_t origins = request.get_header_value_count("Origin");
  if (origins == 0 || (!options.check_host && !options.own_pages)) {
    return false;
  }
  return !options.own_pages || origins > 1 || request.get_header_value_count("Host") != 1 ||
         !IsOriginOf(request.get_header_value("Origin"), request.get_header_value("Host"));
}

// Checks a request before its body is read. Returns 0: it is accepted; or the status of the
// refusal.
int CheckRequest(const httplib::Request& request, const Http::Options& options, bool valid_head,
                 std::string* message) {
  const auto refuse = [message](int status, const char* text) {
    *message = text;
    return status;
  };
  // The library skips what is no header, which another program on the way may take for one.
  if (!valid_head) {
    return refuse(400, "a line of the request's head is no valid header");
  }
  if (options.check_host && (request.get_header_value_count("Host") != 1 ||
                             !IsLoopbackHost(request.get_header_value("Host")))) {
    return refuse(403, "the Host header does not name this machine");
  }
  if (IsOfForeignPage(request, options)) {
    return refuse(403, options.own_pages
                           ? "the request is of another server's page: see its Origin header"
                           : "web pages are not served: the request has an Origin header");
  }
  if (request.method == "GET" || request.method == "HEAD") {
    return 0;
  }
  if (request.method != "POST") {
    return refuse(405, "only GET, HEAD and POST");
  }
  if (request.has_header("Transfer-Encoding") || !request.has_header("Content-Length")) {
    return refuse(411, "Content-Length is missing");
  }
  // Two lengths, or one that is read in two ways, would hide a request from a proxy.
  if (request.get_header_value_count("Content-Length") != 1 ||
      !IsDigits(request.get_header_value("Content-Length"))) {
    return refuse(400, "Content-Length is not one number");
  }
  const std::string type = request.get_header_value("Content-Type");
  if (request.has_header("Content-Encoding") ||
      type.substr(0, type.find(';')) != "application/json") {
    return refuse(415, "Content-Type must be application/json");
  }
  return 0;
}

}  // namespace

class Http::Library final : private httplib::Server {
 public:
  static std::unique_ptr<Library> Make(const Http::Options& options) {
    const KeepSigpipe keep;
    return std::make_unique<Library>(options);
  }
  explicit Library(const Http::Options& options) : options_(options) {
    svr_sock_ = 0;  // Without one the library takes itself for stopped, and writes no chunks.
    set_payload_max_length(options.max_request_bytes);
    set_pre_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      if (exchange->refused == 0) {
        return HandlerResponse::Unhandled;
      }
      SetReply(Refusal(exchange->refused, exchange->refused_message), &response);
      return HandlerResponse::Handled;
    });
    // Every path is "/" for the library: see Prepare.
    const auto serve = [this](const httplib::Request& request, httplib::Response& response) {
      Serve(request, &response);
    };
    httplib::Server::Get("/", serve);
    httplib::Server::Post("/", serve);
    set_error_handler([this](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty() && response.content_provider_ == nullptr) {
        SetReply(Refusal(response.status, LibraryMessage(response.status)), &response);
      }
    });
    set_exception_handler(
        [this](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
          SetReply(Refusal(500, "internal error"), &response);
        });
    // The library adds "Connection: close" to every answer.
    set_post_routing_handler([](const httplib::Request&, httplib::Response& response) {
      if (exchange->keep_open) {
        response.headers.erase("Connection");
      }
    });
    httplib::Headers headers = {{"X-Content-Type-Options", "nosniff"}};
    headers.insert(options.headers.begin(), options.headers.end());
    set_default_headers(std::move(headers));
  }

  HttpRoutes get;
  HttpRoutes post;
  StreamPlaces places;

  // Reads and answers a request. False: the connection is to be closed.
  bool Process(Exchange* current) {
    exchange = current;
    exchange->keep_open = false;
    bool ignored = false;
    const bool answered = process_request(current->stream, true, ignored,
                                          [this](httplib::Request& request) { Prepare(&request); });
    exchange = nullptr;
    return answered && current->keep_open;
  }

 private:
  HttpReply Refusal(int status, const std::string& message) const {
    return options_.refused != nullptr ? options_.refused(status, message)
                                       : HttpReply{.status = status, .body = message + "\n"};
  }

  // Checks and routes the request, whose body has not been read.
  void Prepare(httplib::Request* request) const {
    // Partial and compressed answers are not needed; without them less of the library's code is
    // exposed.
    request->ranges.clear();
    request->headers.erase("Accept-Encoding");
    exchange->refused = CheckRequest(*request, options_, exchange->stream.head_is_valid(),
                                     &exchange->refused_message);
    if (exchange->refused != 0) {
      request->headers.erase("Expect");
    }
    exchange->permits_next = options_.idle_timeout.count() > 0 && PermitsNext(*request);
    exchange->path = request->path;
    exchange->target = request->method + " " + request->path;
    const HttpRoutes& routes = request->method == "POST" ? post : get;
    const auto route = routes.find(request->path);
    exchange->route = route == routes.end() ? nullptr : &route->second;
    request->path = "/";
  }

  // Answers a request that was read to its end.
  void Serve(const httplib::Request& request, httplib::Response* response) {
    exchange->keep_open = exchange->permits_next && !exchange->stream.IsClosing();
    if (exchange->route == nullptr) {
      return SetReply(options_.not_found(exchange->target), response);
    }
    std::shared_ptr<StreamPlaces> place;
    if (exchange->route->streams) {
      place = TakePlace(&places);
      if (place == nullptr) {
        return SetReply(Refusal(503, "too many pages and streams are open"), response);
      }
    }
    HttpReply reply = exchange->route->handler(
        {.body = request.body,
         .authorization = request.get_header_value("Authorization"),
         .peer = exchange->peer,
         .path = exchange->path,
         .query = QueryOf(request.target),
         .cookie = CookiesOf(request),
         .if_none_match = request.get_header_value("If-None-Match"),
         .gone = [stream = &exchange->stream] { return stream->IsClosing(); }});
    if (reply.stream != nullptr && request.version != "HTTP/1.1") {
      return SetReply(Refusal(505, "a stream needs HTTP/1.1"), response);
    }
    if (reply.stream != nullptr) {
      reply.stream = [place, stream = std::move(reply.stream)](HttpWriter* writer) {
        stream(writer);
      };
    }
    SetReply(reply, response);
  }

  const Http::Options options_;
};

Http::Http(const Options& options) : options_(options), library_(Library::Make(options)) {}
Http::~Http() = default;

void Http::Get(const std::string& path, Handler handler) {
  library_->get[path] = {std::move(handler)};
}

void Http::Post(const std::string& path, Handler handler) {
  library_->post[path] = {std::move(handler)};
}

void Http::GetStream(const std::string& path, Handler handler) {
  library_->get[path] = {std::move(handler), true};
}

void Http::PostStream(const std::string& path, Handler handler) {
  library_->post[path] = {std::move(handler), true};
}

void Http::LimitStreams(size_t max_connections) {
  library_->places.limit = std::max<size_t>(1, max_connections * 3 / 4);
}

void Http::Answer(int fd) const {
  Exchange connection{.stream = {fd, options_.max_request_bytes, options_.io_timeout},
                      .peer = PeerName(fd)};
  while (library_->Process(&connection) && connection.stream.AwaitNext(options_.idle_timeout)) {
  }
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
      "Content-Type: text/plain\r\nX-Content-Type-Options: nosniff\r\n"
      "Cache-Control: no-store\r\n\r\ntoo many connections\n";
  // The socket's buffer is empty, so it takes the whole answer.
  static_cast<void>(send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(fd, SHUT_WR);
}

bool IsLoopbackHost(const std::string& host) {
  const bool ipv6 = host.starts_with('[');
  const size_t colon = host.find(':', ipv6 ? host.find(']') : 0);
  const std::string name = Lowercase(host.substr(0, colon));
  const std::string port = colon == std::string::npos ? "" : host.substr(colon + 1);
  if (!port.empty() && !IsDigits(port)) {
    return false;
  }
  if (ipv6) {
    return name == "[::1]";
  }
  in_addr address = {};
  return name == "localhost" ||
         (inet_pton(AF_INET, name.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

std::string QueryValue(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    const size_t equals = pair.find('=');
    if (PercentDecoded(pair.substr(0, equals)) == name) {
      return equals == std::string_view::npos ? "" : PercentDecoded(pair.substr(equals + 1));
    }
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
  }
  return {};
}

}  // namespace wq
