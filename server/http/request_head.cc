#include "server/http/request_head.h"

namespace wq {
namespace {

bool IsTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

bool IsControl(char c) { return (c >= '\0' && c < ' ' && c != '\t') || c == '\x7f'; }

}  // namespace

void RequestHead::Read(std::string_view bytes) {
  for (const char c : bytes) {
    if (in_ == In::kBody) {
      return;
    }
    ReadByte(c);
  }
}

void RequestHead::ReadByte(char c) {
  if (c == '\n') {
    valid_ = valid_ && after_cr_;
    after_cr_ = false;
    return EndLine();
  }
  valid_ = valid_ && !after_cr_;
  after_cr_ = c == '\r';
  if (after_cr_) {
    return;
  }
  switch (in_) {
    case In::kLineBegin:
      valid_ = valid_ && IsTokenCharacter(c);
      in_ = In::kName;
      return;
    case In::kName:
      if (c == ':') {
        in_ = In::kValue;
      } else {
        valid_ = valid_ && IsTokenCharacter(c);
      }
      return;
    default:
      valid_ = valid_ && !IsControl(c);
      return;
  }
}

void RequestHead::EndLine() {
  valid_ = valid_ && in_ != In::kName;  // Without a colon.
  in_ = in_ == In::kLineBegin ? In::kBody : In::kLineBegin;
}

}  // namespace wq
