// RequestHead: whether the head of an HTTP/1.1 request, its request line and its headers, consists
// of lines as RFC 9112 has them.
//
//   RequestHead head;
//   head.Read(bytes);          // Any number of times, as the bytes come; the body is ignored.
//   if (!head.valid()) …       // 400
//
// Two programs that read such a line in two ways see two different requests. Not valid are: a space
// before the colon of a header; a line that begins with a space or a tab, which once continued the
// line before (obs-fold); a line without a colon, or without a name; a CR or an LF that is not part
// of a CRLF; another control character. Threading: thread-compatible.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq {

class RequestHead {
 public:
  void Read(std::string_view bytes);
  bool valid() const { return valid_; }

 private:
  enum class In : uint8_t { kRequestLine, kLineBegin, kName, kValue, kBody };

  void ReadByte(char c);
  void EndLine();

  In in_ = In::kRequestLine;
  bool valid_ = true;
  bool after_cr_ = false;
};

}  // namespace wq
