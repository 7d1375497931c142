#include "server/http/http.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <utility>

#include "server/http/request_parser.h"

namespace wq {
namespace {

using boost::beast::http::verb;

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

bool IsOriginOf(const std::string& origin, const std::string& host) {
  return !host.empty() && (absl::EqualsIgnoreCase(origin, absl::StrCat("http://", host)) ||
                           absl::EqualsIgnoreCase(origin, absl::StrCat("https://", host)));
}

// Whether the request comes from a web page that may not make it.
bool IsOfForeignPage(const HttpHead& head, const Http::Options& options) {
  const size_t origins = head.count("Origin");
  if (origins == 0 || (!options.check_host && !options.own_pages)) {
    return false;
  }
  return !options.own_pages || origins > 1 || head.count("Host") != 1 ||
         !IsOriginOf(HeaderOf(head, "Origin"), HeaderOf(head, "Host"));
}

int CheckBody(const HttpHead& head, const char** message) {
  if (head.count("Transfer-Encoding") > 0 || head.count("Content-Length") == 0) {
    *message = "Content-Length is missing";
    return 411;
  }
  // Two lengths, or one that is read in two ways, would hide a request from a proxy.
  if (head.count("Content-Length") != 1 || !IsDigits(HeaderOf(head, "Content-Length"))) {
    *message = "Content-Length is not one number";
    return 400;
  }
  const std::string type = HeaderOf(head, "Content-Type");
  if (head.count("Content-Encoding") > 0 ||
      !absl::EqualsIgnoreCase(absl::StripTrailingAsciiWhitespace(type.substr(0, type.find(';'))),
                              "application/json")) {
    *message = "Content-Type must be application/json";
    return 415;
  }
  return 0;
}

void AppendHeader(std::string_view name, std::string_view value, std::string* text) {
  text->append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

void Http::Get(const std::string& path, Handler handler, HttpRun run) {
  get_[path] = {std::move(handler), run};
}

void Http::Post(const std::string& path, Handler handler, HttpRun run) {
  post_[path] = {std::move(handler), run};
}

const Http::Route* Http::Find(std::string_view method, std::string_view path) const {
  const Routes& routes = method == "POST" ? post_ : get_;
  const auto route = routes.find(path);
  return route == routes.end() ? nullptr : &route->second;
}

int Http::Check(const HttpHead& head, std::string* message) const {
  const auto refuse = [message](int status, const char* text) {
    *message = text;
    return status;
  };
  if (options_.check_host && (head.count("Host") != 1 || !IsLoopbackHost(HeaderOf(head, "Host")))) {
    return refuse(403, "the Host header does not name this machine");
  }
  if (IsOfForeignPage(head, options_)) {
    return refuse(403, options_.own_pages
                           ? "the request is of another server's page: see its Origin header"
                           : "web pages are not served: the request has an Origin header");
  }
  if (head.method() == verb::get || head.method() == verb::head) {
    return 0;
  }
  if (head.method() != verb::post) {
    return refuse(405, "only GET, HEAD and POST");
  }
  const char* wrong = "";
  const int status = CheckBody(head, &wrong);
  return status == 0 ? 0 : refuse(status, wrong);
}

// A body that is not read would be taken for the next request.
bool Http::PermitsNext(const HttpHead& head) const {
  return options_.idle_timeout.count() > 0 && head.keeps_open &&
         (head.method() == verb::post ||
          head.count("Content-Length") + head.count("Transfer-Encoding") == 0);
}

HttpReply Http::Refusal(int status, const std::string& message) const {
  return options_.refused != nullptr ? options_.refused(status, message)
                                     : HttpReply{.status = status, .body = message + "\n"};
}

HttpReply Http::Refusal(const RequestParser& bad) const {
  switch (bad.status()) {
    case 413:
      return Refusal(413, "the request is too long");
    case 414:
      return Refusal(414, "the request's path is too long");
    case 431:
      return Refusal(431, "the request's head is too long");
    default:
      return Refusal(400, "no valid HTTP request");
  }
}

std::string Http::AnswerHead(const HttpReply& reply, bool keep_open) const {
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(reply.status));
  std::string text = absl::StrCat("HTTP/1.1 ", reply.status, " ", reason.to_string(), "\r\n");
  if (!keep_open) {
    AppendHeader("Connection", "close", &text);
  }
  if (reply.stream != nullptr) {
    AppendHeader("Transfer-Encoding", "chunked", &text);
  } else if (reply.status != 304) {
    AppendHeader("Content-Length", std::to_string(reply.body.size()), &text);
  }
  if (reply.status != 304) {
    AppendHeader("Content-Type", reply.type, &text);
  }
  AppendHeader("X-Content-Type-Options", "nosniff", &text);
  if (reply.status == 401) {
    AppendHeader("WWW-Authenticate", "Bearer", &text);
  }
  for (const auto& header : options_.headers) {
    const bool is_replaced =
        std::any_of(reply.headers.begin(), reply.headers.end(),
                    [&](const auto& own) { return own.first == header.first; });
    if (!is_replaced) {
      AppendHeader(header.first, header.second, &text);
    }
  }
  for (const auto& [name, value] : reply.headers) {
    AppendHeader(name, value, &text);
  }
  return text + "\r\n";
}

// A '%' without two digits stands for itself.
std::string PathOf(std::string_view target) {
  const std::string_view text = target.substr(0, target.find_first_of("?#"));
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, text[i] == '%' ? 2 : 0);
    if (digits.size() == 2 && std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
      decoded += absl::HexStringToBytes(std::string(digits));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string HeaderOf(const HttpHead& head, const char* name) { return head[name].to_string(); }

std::string CookiesOf(const HttpHead& head) {
  std::string all;
  const auto [begin, end] = head.equal_range(boost::beast::http::field::cookie);
  for (auto cookie = begin; cookie != end; ++cookie) {
    all += (all.empty() ? "" : "; ") + cookie->value().to_string();
  }
  return all;
}

bool IsLoopbackHost(const std::string& host) {
  const bool ipv6 = host.starts_with('[');
  const size_t colon = host.find(':', ipv6 ? host.find(']') : 0);
  const std::string name = absl::AsciiStrToLower(host.substr(0, colon));
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

}  // namespace wq
