// Converts JSON to YAML. Strings stay JSON strings, which are valid YAML.
#pragma once

#include <string>
#include <string_view>

namespace wqctl {

// One document. REQUIRES: `json` is valid JSON.
std::string YamlOfJson(std::string_view json);

}  // namespace wqctl
