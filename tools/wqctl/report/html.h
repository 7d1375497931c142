// HTML: escaped text, and the small pieces of a page.
//
//   *page += "<td>" + HtmlText(wq::EscapeKey(key)) + "</td>";
//
// Bytes from a store go through EscapeKey first, which returns printable UTF-8. The result of
// HtmlText is safe between tags and in a quoted attribute.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/wqctl/cli/show.h"

namespace wqctl {

// Replaces &, <, >, " and ' by character references.
std::string HtmlText(std::string_view text);

// Bytes of a store as text: EscapeKey, cut after `max_bytes`, then HtmlText.
std::string HtmlBytes(std::string_view bytes, size_t max_bytes = 256);

// At most `max_characters` of a UTF-8 text; "…" replaces the rest.
std::string CutText(std::string_view text, size_t max_characters);

// "12 345 678", with narrow spaces that do not break.
std::string GroupedCount(uint64_t count);
// "950", "12k", "1.2M".
std::string ShortCount(uint64_t count);

// A relative time, with the absolute time as a tooltip.
std::string HtmlTime(const std::string& relative, int64_t wall_us);

}  // namespace wqctl
