#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

namespace wq {
namespace {

namespace beast = boost::beast;

bool IsName(std::string_view a, std::string_view b) {
  return beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

std::string ToString(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

size_t HttpHead::Count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(headers.begin(), headers.end(), [&](const auto& header) {
    return IsName(header.first, name);
  }));
}

std::string HttpHead::Value(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return IsName(header.first, name); });
  return found == headers.end() ? "" : found->second;
}

// The library parses heads only: a body has a length here, or is not read.
class RequestParser::Library {
 public:
  explicit Library(size_t max_head) {
    parser.header_limit(
        static_cast<uint32_t>(std::min<size_t>(max_head, std::numeric_limits<uint32_t>::max())));
    parser.body_limit(std::numeric_limits<uint64_t>::max());  // Checked here.
  }
  beast::http::request_parser<beast::http::empty_body> parser;
};

RequestParser::RequestParser(size_t max_bytes)
    : max_bytes_(max_bytes), library_(new Library(std::min(max_bytes, kMaxHead))) {}

RequestParser::~RequestParser() = default;

RequestParser::Next RequestParser::Read(std::string* bytes) {
  if (library_ != nullptr) {
    return ReadHead(bytes);
  }
  const size_t n = std::min<uint64_t>(body_left_, bytes->size());
  if (n == bytes->size() && body_.empty()) {
    body_.swap(*bytes);
  } else {
    body_.append(*bytes, 0, n);
    bytes->erase(0, n);
  }
  body_left_ -= n;
  return body_left_ > 0 ? Next::kMore : Next::kWhole;
}

RequestParser::Next RequestParser::ReadHead(std::string* bytes) {
  beast::error_code error;
  const size_t n =
      library_->parser.put(boost::asio::const_buffer(bytes->data(), bytes->size()), error);
  lines_.Read({bytes->data(), n});
  bytes->erase(0, n);
  head_bytes_ += n;
  if (error == beast::http::error::need_more) {
    return head_bytes_ + bytes->size() > std::min(max_bytes_, kMaxHead) ? Bad(431) : Next::kMore;
  }
  if (error) {
    return Bad(error == beast::http::error::header_limit ? 431 : 400);
  }
  return library_->parser.is_header_done() ? EndHead() : Next::kMore;
}

RequestParser::Next RequestParser::EndHead() {
  const auto& request = library_->parser.get();
  head_.method = ToString(request.method_string());
  head_.target = ToString(request.target());
  head_.is_http11 = request.version() == 11;
  head_.valid_lines = lines_.valid();
  for (const auto& field : request) {
    head_.headers.emplace_back(ToString(field.name_string()), ToString(field.value()));
  }
  body_left_ = library_->parser.content_length().value_or(0);
  library_.reset();
  if (head_.target.size() > kMaxTarget) {
    return Bad(414);
  }
  return body_left_ > max_bytes_ - std::min(max_bytes_, head_bytes_) ? Bad(413) : Next::kHead;
}

RequestParser::Next RequestParser::Bad(int status) {
  status_ = status;
  return Next::kBad;
}

}  // namespace wq
