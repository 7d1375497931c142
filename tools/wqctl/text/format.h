// Format: the output format that -o selects, for every verb that prints data.
#pragma once

#include <array>
#include <cstdint>

namespace wqctl {

enum class Format : uint8_t { kText, kTable, kWide, kJson, kJsonl, kYaml, kName };

constexpr const char* FormatName(Format format) {
  constexpr std::array kNames = {"text", "table", "wide", "json", "jsonl", "yaml", "name"};
  return kNames[static_cast<size_t>(format)];
}

}  // namespace wqctl
