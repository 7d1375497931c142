// Format: what -o chooses, for every verb that prints data.
#pragma once

#include <cstdint>

namespace wqctl {

enum class Format : uint8_t { kText, kTable, kWide, kJson, kJsonl, kYaml, kName };

}  // namespace wqctl
