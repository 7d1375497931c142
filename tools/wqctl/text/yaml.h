// YAML of what is there as JSON. Strings stay JSON strings, which YAML takes as they are.
#pragma once

#include <string>
#include <string_view>

namespace wqctl {

// One document. REQUIRES: `json` is valid JSON.
std::string YamlOfJson(std::string_view json);

}  // namespace wqctl
