// NeedsEscapes: whether a text has bytes that a terminal does not show as they are. A backslash is
// none of them: so a text that is escaped already has none. Pure.
#pragma once

#include <string>

#include "wq/keys.h"

namespace wqctl {

inline bool NeedsEscapes(std::string text) {
  std::erase(text, '\\');
  return wq::EscapeKey(text, text.size()) != text;
}

}  // namespace wqctl
