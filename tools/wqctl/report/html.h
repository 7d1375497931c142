// HTML: text made safe for a page, and the small pieces that a page is made of.
//
//   *page += "<td>" + HtmlText(wq::EscapeKey(key)) + "</td>";
//
// Bytes from a store go through EscapeKey first: what it returns is printable UTF-8, and HtmlText
// makes that text wherever it stands, between tags and in a quoted attribute.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/wqctl/cli/show.h"

namespace wqctl {

// With &, <, >, " and ' as references.
std::string HtmlText(std::string_view text);

// Bytes of a store as text: escaped for people, cut after `max_bytes`, then made safe.
std::string HtmlBytes(std::string_view bytes, size_t max_bytes = 256);

// At most `max_characters` of a text that is UTF-8, with "…" for the rest.
std::string CutText(std::string_view text, size_t max_characters);

// "12 345 678", with narrow spaces that do not break.
std::string GroupedCount(uint64_t count);
// "950", "12k", "1.2M".
std::string ShortCount(uint64_t count);

// A relative time, with the absolute one when the mouse rests on it.
std::string HtmlTime(const std::string& relative, int64_t wall_us);

}  // namespace wqctl
