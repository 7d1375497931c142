// Fields of JSON objects that both sides of wqctl's JSON share. Includes the JSON library, which is slow
// to compile: for sources whose purpose is JSON only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "wq/entry.h"
#include "wq/keys.h"
#include "wq/queue_summary.h"

namespace wqctl {

using Json = nlohmann::ordered_json;  // Fields stay in the order in which they are set.

// `name`: the bytes as a string, or `name`_base64 where a JSON string cannot hold them.
inline void SetBytes(const std::string& name, std::string_view bytes, Json* object) {
  if (wq::IsValidUtf8(bytes)) {
    (*object)[name] = bytes;
  } else {
    (*object)[name + "_base64"] = wq::ToBase64(bytes);
  }
}

inline double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

// What an entry holds beside its queue and key.
void SetState(const wq::Entry& entry, Json* json);

// Defined in json.cc.
Json FailingKeyJson(const wq::FailingKey& failing);

}  // namespace wqctl
