#include "base/names.h"

#include <algorithm>
#include <string>

#include "wq/keys.h"

namespace wq {
namespace {

bool IsNameByte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), IsNameByte);
}

Status CheckName(std::string_view what, std::string_view name) {
  if (IsName(name)) {
    return {};
  }
  std::string message = "no ";
  message.append(what)
      .append(" name (1 to 64 of [A-Za-z0-9._-]): '")
      .append(EscapeKey(name, kMaxNameBytes))
      .append("'");
  return Status::InvalidArgument(std::move(message));
}

}  // namespace wq
