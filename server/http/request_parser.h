// RequestParser: reads one HTTP/1.1 request from bytes as they come. Wraps Boost.Beast's parser.
//
//   RequestParser parser(max_bytes);
//   while (parser.Read(&bytes) == RequestParser::Next::kMore) {
//     … append to `bytes` what the client sends …
//   }
//
// Read takes from the front of `bytes` what belongs to this request. It stops once behind the
// request's head (kHead), so that a caller can refuse a request before its body is read. A header
// that is continued on the next line (obs-fold) is refused, as all is that two programs might read
// in two ways: a proxy would see another request.
// Threading: thread-compatible.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace wq {

// The request line and the headers of a request.
struct HttpHead : boost::beast::http::request_header<> {
  bool keeps_open = false;  // The client takes another answer on this connection.

  bool is_http11() const { return version() == 11; }
};

class RequestParser {
 public:
  // `max_bytes`: of the head and the body.
  explicit RequestParser(size_t max_bytes);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  enum class Next : uint8_t {
    kMore,   // The request goes on behind the bytes that were read.
    kHead,   // head() is complete.
    kWhole,  // body() is, too.
    kBad,    // This is no request, or one that is too long: see status().
  };
  Next Read(std::string* bytes);

  HttpHead& head() { return head_; }
  std::string& body() { return body_; }
  // Whether nothing of the body has been read, and it has a length.
  bool awaits_body() const { return body_.empty() && body_left_ > 0; }
  // Of a request that is bad: 400, 413, 414 or 431.
  int status() const { return status_; }

  // The longest request line's path, and the longest head.
  static constexpr size_t kMaxTarget = 8192;
  static constexpr size_t kMaxHead = size_t{64} << 10;

 private:
  Next ReadHead(std::string* bytes);
  Next EndHead();
  Next Bad(int status);

  const size_t max_bytes_;
  // Of heads: a body has a length here, or is not read. nullopt: the head is complete.
  std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> library_;
  HttpHead head_;
  size_t head_bytes_ = 0;
  std::string body_;
  uint64_t body_left_ = 0;
  int status_ = 400;
};

}  // namespace wq
