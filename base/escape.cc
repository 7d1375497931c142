// The text forms of keys and lanes, the Base64 form of bytes, and the check for UTF-8 (wq/keys.h).

#include <absl/strings/escaping.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "wq/keys.h"

namespace wq {
namespace {

// One step through a byte string.
struct Decoded {
  uint32_t code_point = 0;
  size_t bytes = 1;
  bool valid = false;  // If not, this is one byte that is not UTF-8.
};

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

// Code points that a terminal acts on or does not show, and that could make a line look like
// another. ASCII is handled separately.
constexpr std::array kUnprintable = {
    CodePointRange{0x0080, 0x009F},    // C1 controls; some terminals execute them.
    CodePointRange{0x00AD, 0x00AD},    // Soft hyphen.
    CodePointRange{0x061C, 0x061C},    // Arabic letter mark.
    CodePointRange{0x200B, 0x200B},    // Zero width space. (Scripts and emoji need the joiners.)
    CodePointRange{0x200E, 0x200F},    // Left-to-right and right-to-left mark.
    CodePointRange{0x2028, 0x202E},    // Line and paragraph separator, bidirectional embeddings.
    CodePointRange{0x2060, 0x206F},    // Invisible operators, bidirectional isolates.
    CodePointRange{0xFEFF, 0xFEFF},    // Byte order mark.
    CodePointRange{0xFFF9, 0xFFFB},    // Interlinear annotation.
    CodePointRange{0xE0000, 0xE007F},  // Tags.
};

bool IsPrintable(uint32_t code_point) {
  return std::none_of(kUnprintable.begin(), kUnprintable.end(), [=](const CodePointRange& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

// What a lead byte determines: the number of continuation bytes (0xFF: it is not a lead byte), the
// mask of its payload, and the smallest code point that this length may encode.
struct Lead {
  uint8_t continuations;
  uint8_t mask;
  uint32_t smallest;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {0, 0x7F, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x1F, 0x80};
  if (byte >= 0xE0 && byte <= 0xEF) return {2, 0x0F, 0x800};
  if (byte >= 0xF0 && byte <= 0xF4) return {3, 0x07, 0x10000};
  return {0xFF, 0, 0};
}

Decoded Decode(std::string_view bytes) {
  const auto lead_byte = static_cast<uint8_t>(bytes.front());
  const Lead lead = LeadOf(lead_byte);
  const Decoded bad{lead_byte, 1, false};
  if (lead.continuations == 0xFF || bytes.size() <= lead.continuations) return bad;
  uint32_t code_point = lead_byte & lead.mask;
  for (size_t i = 1; i <= lead.continuations; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if ((byte & 0xC0) != 0x80) return bad;
    code_point = (code_point << 6) | (byte & 0x3FU);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < lead.smallest || code_point > 0x10FFFF || surrogate) return bad;
  return {code_point, size_t{1} + lead.continuations, true};
}

void AppendByte(uint8_t byte, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out->append("\\x");
  out->push_back(kHex[byte >> 4]);
  out->push_back(kHex[byte & 0xF]);
}

void AppendCodePoint(uint32_t code_point, std::string* out) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), code_point, 16).ptr;
  out->append("\\u{").append(digits.data(), end).push_back('}');
}

void AppendEscaped(const Decoded& decoded, std::string_view raw, std::string* out) {
  if (!decoded.valid) return AppendByte(static_cast<uint8_t>(raw.front()), out);
  if (decoded.code_point >= 0x80) {
    if (!IsPrintable(decoded.code_point)) return AppendCodePoint(decoded.code_point, out);
    out->append(raw);
    return;
  }
  switch (const char c = raw.front()) {
    case '\n':
      out->append("\\n");
      return;
    case '\t':
      out->append("\\t");
      return;
    case '\\':
      out->append("\\\\");
      return;
    default:
      if (c < 0x20 || c == 0x7F) return AppendByte(static_cast<uint8_t>(c), out);
      out->push_back(c);
  }
}

}  // namespace

std::string EscapeKey(std::string_view bytes, size_t max_bytes) {
  std::string out;
  out.reserve(std::min(bytes.size(), max_bytes) + 4);
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    const Decoded decoded = Decode(rest);
    if (at + decoded.bytes > max_bytes) {
      out.append("…");
      break;
    }
    AppendEscaped(decoded, rest.substr(0, decoded.bytes), &out);
    at += decoded.bytes;
  }
  return out;
}

bool IsValidUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Decoded decoded = Decode(bytes);
    if (!decoded.valid) return false;
    bytes.remove_prefix(decoded.bytes);
  }
  return true;
}

std::string LaneName(Lane lane) {
  if (lane == kFastLane) return "fast";
  if (lane == kSlowLane) return "slow";
  return std::to_string(lane);
}

std::optional<Lane> ParseLane(std::string_view text) {
  if (text == "fast") return kFastLane;
  if (text == "slow") return kSlowLane;
  Lane lane = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, lane);
  if (error != std::errc() || stop != end) return std::nullopt;
  return lane;
}

// --- Base64 ---

std::string ToBase64(std::string_view bytes) {
  std::string text;
  absl::Base64Escape({bytes.data(), bytes.size()}, &text);
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes)) return std::nullopt;
  // Abseil also accepts spaces, other padding and nonzero unused bits: one value has one text here.
  return ToBase64(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace wq
