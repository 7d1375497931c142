// Format: the output format that -o selects. The two sets below are the only ones: a verb that
// lists things knows every format, a verb that reports an outcome those that are not about rows.
#pragma once

#include <array>
#include <cstdint>

namespace wqctl {

enum class Format : uint8_t { kText, kTable, kWide, kJson, kJsonl, kName };

constexpr const char* FormatName(Format format) {
  constexpr std::array kNames = {"text", "table", "wide", "json", "jsonl", "name"};
  return kNames[static_cast<size_t>(format)];
}

// A verb without a text or a wide table of its own prints its table for these.
inline constexpr std::array kListingFormats = {Format::kText, Format::kTable, Format::kWide,
                                               Format::kJson, Format::kJsonl, Format::kName};
inline constexpr std::array kOutcomeFormats = {Format::kText, Format::kJson, Format::kJsonl};

constexpr bool IsTable(Format format) {
  return format == Format::kText || format == Format::kTable || format == Format::kWide;
}

}  // namespace wqctl
