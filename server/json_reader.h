// JsonReader: reads the fields of a JSON object from an untrusted peer. Only for wire*.cc.
//
//   Json json;
//   Status s = ParseObject(text, &json);
//   JsonReader fields(json);
//   fields.Number("index", &index);
//   return fields.status();
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/keys.h"
#include "wq/status.h"

namespace wq::wire {

using Json = nlohmann::ordered_json;  // Fields stay in the order in which they are set.

inline std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The bytes as a string, or {"base64": …} where a JSON string cannot hold them.
inline Json BytesJson(std::string_view bytes) {
  return IsValidUtf8(bytes) ? Json(bytes) : Json{{"base64", ToBase64(bytes)}};
}

inline std::optional<std::string> BytesOf(const Json& json) {
  if (json.is_string()) {
    return json.get<std::string>();
  }
  if (json.is_object() && json.size() == 1 && json.contains("base64") &&
      json["base64"].is_string()) {
    return FromBase64(json["base64"].get_ref<const std::string&>());
  }
  return std::nullopt;
}

inline Status BadRequest(const std::string& what) {
  return Status::InvalidArgument("bad request: " + what);
}

inline Status ParseObject(std::string_view text, Json* json) {
  *json = Json::parse(text, nullptr, false);
  return json->is_object() ? Status::Ok() : BadRequest("no JSON object");
}

// Reads the fields of one object. The first field of a wrong type or value becomes the status. A
// field that is missing or null leaves its target unchanged.
class JsonReader {
 public:
  explicit JsonReader(const Json& object) : object_(object) {}

  template <typename Target>
  void Number(const char* name, Target* target) {
    const Json* const field = Find(name);
    if (field == nullptr) {
      return;
    }
    bool fits = false;
    if (field->is_number_unsigned()) {
      fits = Fit(field->get<uint64_t>(), target);
    } else if (field->is_number_integer()) {
      fits = Fit(field->get<int64_t>(), target);
    }
    if (!fits) {
      Fail(name);
    }
  }
  void Flag(const char* name, bool* target) {
    const Json* const field = Find(name);
    if (field != nullptr && field->is_boolean()) {
      *target = field->get<bool>();
    } else if (field != nullptr) {
      Fail(name);
    }
  }
  template <typename Target>  // A string, or an optional one.
  void Bytes(const char* name, Target* target) {
    const Json* const field = Find(name);
    std::optional<std::string> bytes = field == nullptr ? std::nullopt : BytesOf(*field);
    if (bytes) {
      *target = std::move(*bytes);
    } else if (field != nullptr) {
      Fail(name);
    }
  }
  template <typename Enum, size_t kSize>
  void OneOf(const char* name, const char* const (&names)[kSize], Enum* target) {
    const Json* const field = Find(name);
    for (size_t i = 0; field != nullptr && i < kSize; ++i) {
      if (*field == names[i]) {
        *target = static_cast<Enum>(i);
        return;
      }
    }
    if (field != nullptr) {
      Fail(name);
    }
  }
  // Calls `visit` with each element; it returns false if the element is invalid.
  template <typename Visit>
  void Each(const char* name, const Visit& visit) {
    const Json* const field = Find(name);
    if (field == nullptr) {
      return;
    }
    if (!field->is_array()) {
      return Fail(name);
    }
    for (size_t i = 0; i < field->size(); ++i) {
      if (!visit((*field)[i])) {
        return Fail(std::string(name) + "[" + std::to_string(i) + "]");
      }
    }
  }
  const Json* Object(const char* name) {
    const Json* const field = Find(name);
    if (field != nullptr && !field->is_object()) {
      Fail(name);
      return nullptr;
    }
    return field;
  }

  // Fails for a field that no call before has read.
  void NoOthers() {
    for (const auto& [name, _] : object_.items()) {
      if (status_.ok() && std::find(read_.begin(), read_.end(), name) == read_.end()) {
        status_ = BadRequest("unknown field \"" + EscapeKey(name, 64) + "\"");
      }
    }
  }

  void Fail(const std::string& name) {
    if (status_.ok()) {
      status_ = BadRequest("\"" + name + "\"");
    }
  }
  const Status& status() const { return status_; }

 private:
  const Json* Find(const char* name) {
    read_.emplace_back(name);
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  template <typename Value, typename T>
  static bool Fit(Value value, T* target) {
    if (!std::in_range<T>(value)) {
      return false;
    }
    *target = static_cast<T>(value);
    return true;
  }
  template <typename Value, typename T>
  static bool Fit(Value value, std::optional<T>* target) {
    T number = 0;
    const bool fits = Fit(value, &number);
    *target = number;
    return fits;
  }

  const Json& object_;
  std::vector<std::string> read_;  // The names that were asked for.
  Status status_;
};

}  // namespace wq::wire
