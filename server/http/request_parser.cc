#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <string_view>
#include <utility>

namespace wq {
namespace {

namespace beast = boost::beast;

}  // namespace

RequestParser::RequestParser(size_t max_bytes) : max_bytes_(max_bytes) {
  library_.emplace();
  library_->header_limit(static_cast<uint32_t>(std::min(max_bytes, kMaxHead)));
  library_->body_limit(std::numeric_limits<uint64_t>::max());  // Checked here.
}

RequestParser::Next RequestParser::Read(std::string* bytes) {
  if (library_.has_value()) {
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
  const size_t n = library_->put(boost::asio::const_buffer(bytes->data(), bytes->size()), error);
  const std::string_view lines(bytes->data(), n);
  // The library takes a line when it has seen how the next one begins.
  const bool folded = lines.find("\r\n ") != lines.npos || lines.find("\r\n\t") != lines.npos;
  bytes->erase(0, n);
  head_bytes_ += n;
  if (folded) {
    return Bad(400);
  }
  if (error == beast::http::error::need_more) {
    return head_bytes_ + bytes->size() > std::min(max_bytes_, kMaxHead) ? Bad(431) : Next::kMore;
  }
  if (error) {
    return Bad(error == beast::http::error::header_limit ? 431 : 400);
  }
  return library_->is_header_done() ? EndHead() : Next::kMore;
}

RequestParser::Next RequestParser::EndHead() {
  static_cast<beast::http::request_header<>&>(head_) = std::move(library_->get().base());
  head_.keeps_open = head_.is_http11() && library_->keep_alive();
  body_left_ = library_->content_length().value_or(0);
  library_.reset();
  if (head_.target().size() > kMaxTarget) {
    return Bad(414);
  }
  return body_left_ > max_bytes_ - std::min(max_bytes_, head_bytes_) ? Bad(413) : Next::kHead;
}

RequestParser::Next RequestParser::Bad(int status) {
  status_ = status;
  return Next::kBad;
}

}  // namespace wq
