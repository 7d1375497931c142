// JSON fields that several sources write. Includes the JSON library, which is slow to compile: only
// for sources whose purpose is JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "wq/entry.h"
#include "wq/keys.h"
#include "wq/queue_summary.h"

namespace wqctl {

using Json = nlohmann::ordered_json;  // Fields stay in the order in which they are set.

// Sets `name` to the bytes, or `name`_base64 if they are not UTF-8.
inline void SetBytes(const std::string& name, std::string_view bytes, Json* object) {
  if (wq::IsValidUtf8(bytes)) {
    (*object)[name] = bytes;
  } else {
    (*object)[name + "_base64"] = wq::ToBase64(bytes);
  }
}

// The text. Damaged names, which may be no UTF-8, are there with U+FFFD.
inline std::string JsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

inline double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

// The fields of an entry besides its queue and key. Defined in dump_line.cc.
void SetState(const wq::Entry& entry, Json* json);

// Defined in json.cc.
Json FailingKeyJson(const wq::FailingKey& failing);

}  // namespace wqctl
