#include "tools/wqctl/report/html.h"

#include <array>
#include <cstdio>

#include "tools/wqctl/text/duration.h"
#include "wq/keys.h"

namespace wqctl {

std::string HtmlText(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html.push_back(c);
    }
  }
  return html;
}

std::string HtmlBytes(std::string_view bytes, size_t max_bytes) {
  return HtmlText(wq::EscapeKey(bytes, max_bytes));
}

std::string CutText(std::string_view text, size_t max_characters) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (begins && characters++ == max_characters) return std::string(text.substr(0, i)) + "…";
  }
  return std::string(text);
}

std::string GroupedCount(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += "\u202F";
    text.push_back(digits[i]);
  }
  return text;
}

std::string ShortCount(uint64_t count) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T"};
  if (count < 1000) return std::to_string(count);
  auto value = static_cast<double>(count);
  size_t unit = 0;
  // 999.5 would be rounded to 1000.
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  std::array<char, 32> text{};
  const int n = std::snprintf(text.data(), text.size(), value < 9.95 ? "%.1f%s" : "%.0f%s", value,
                              kUnits[unit]);
  return {text.data(), static_cast<size_t>(n)};
}

std::string HtmlTime(const std::string& relative, int64_t wall_us) {
  return "<span title=\"" + FormatTime(wall_us) + "\">" + HtmlText(relative) + "</span>";
}

}  // namespace wqctl
