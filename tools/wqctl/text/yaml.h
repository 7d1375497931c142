// Converts JSON to YAML. Strings stay JSON strings, which are valid YAML.
#pragma once

#include <string>
#include <string_view>

#include "tools/wqctl/text/format.h"

namespace wqctl {

// One document. REQUIRES: `json` is valid JSON.
std::string YamlOfJson(std::string_view json);

// The document `json` as it is for kJson, on one line for kJsonl, or as YAML for kYaml; with a line
// end. REQUIRES: `json` is valid JSON with a line end.
std::string InFormat(Format format, std::string_view json);

}  // namespace wqctl
