#include "tools/wqctl/text/yaml.h"

#include <nlohmann/json.hpp>

namespace wqctl {
namespace {

using Json = nlohmann::ordered_json;

// Without quotes for our own field names, which YAML cannot take for anything else.
std::string NameText(const std::string& name) {
  const bool plain =
      !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  return plain ? name : Json(name).dump();
}

// Puts `indent` spaces before each line except the first; the caller has indented that.
void Append(const Json& json, size_t indent, std::string* out) {
  const auto nested = [](const Json& value) { return value.is_structured() && !value.empty(); };
  bool first = true;
  const auto begin_line = [&] {
    if (!std::exchange(first, false)) out->append(indent, ' ');
  };
  if (!nested(json)) {
    out->append(json.dump()).push_back('\n');
    return;
  }
  for (const auto& [name, value] : json.items()) {
    begin_line();
    if (json.is_array()) {
      out->append("- ");
      Append(value, indent + 2, out);
      continue;
    }
    out->append(NameText(name)).append(":");
    if (nested(value)) {
      out->push_back('\n');
      out->append(indent + 2, ' ');
      Append(value, indent + 2, out);
    } else {
      out->append(" ").append(value.dump()).push_back('\n');
    }
  }
}

}  // namespace

std::string InFormat(Format format, std::string_view json) {
  if (format == Format::kYaml) return YamlOfJson(json);
  return format == Format::kJsonl ? Json::parse(json).dump() + "\n" : std::string(json);
}

std::string YamlOfJson(std::string_view json) {
  std::string out;
  Append(Json::parse(json), 0, &out);
  return out;
}

}  // namespace wqctl
