#include "server/wire.h"

#include <utility>

#include "server/json_reader.h"

namespace wq::wire {
namespace {

constexpr const char* kChangeNames[] = {"remove",  "cancel-delay", "requeue", "forget",
                                        "release", "drop",         "delete"};
constexpr const char* kDurabilityNames[] = {"async", "process", "power"};

Json CallJson(const Call& call, std::span<const std::string_view> keys) {
  Json json{{"queue", call.queue}};
  Json& list = json["keys"] = Json::array();
  for (const std::string_view key : keys) {
    list.push_back(BytesJson(key));
  }
  return json;
}

}  // namespace

std::string EncodeAdd(const Call& call, std::span<const std::string_view> keys) {
  Json json = CallJson(call, keys);
  json["create"] = call.create;
  json["durability"] = kDurabilityNames[static_cast<size_t>(call.add.durability)];
  if (call.add.lane) {
    json["lane"] = *call.add.lane;
  }
  if (call.add.group) {
    json["group"] = BytesJson(*call.add.group);
  }
  if (call.add.delay.count() > 0) {
    json["after_us"] = call.add.delay.count();
  }
  return Text(json);
}

std::string EncodeChange(const Call& call, std::span<const std::string_view> keys) {
  Json json = CallJson(call, keys);
  json["change"] = kChangeNames[static_cast<size_t>(call.change)];
  json["durability"] = kDurabilityNames[static_cast<size_t>(call.durability)];
  return Text(json);
}

std::string EncodePause(const Call& call) {
  Json json{{"queue", call.queue}};
  if (call.pause_for) {
    json["for_us"] = call.pause_for->count();
  }
  return Text(json);
}

std::string EncodeResume(const Call& call) { return Text({{"queue", call.queue}}); }

std::string EncodeFlush(const Call& call) {
  return Text({{"durability", kDurabilityNames[static_cast<size_t>(call.durability)]}});
}

Status DecodeCall(std::string_view path, std::string_view text, Call* call) {
  *call = {};
  Json json;
  if (Status s = ParseObject(text, &json); !s.ok()) {
    return s;
  }
  JsonReader fields(json);
  if (path != kFlushPath) {
    fields.Bytes("queue", &call->queue);
  }
  if (path == kAddPath || path == kChangePath || path == kFlushPath) {
    fields.OneOf("durability", kDurabilityNames, &call->durability);
  }
  if (path == kAddPath || path == kChangePath) {
    fields.Each("keys", [call](const Json& element) {
      std::optional<std::string> key = BytesOf(element);
      if (key) {
        call->keys.push_back(*std::move(key));
        return true;
      }
      return false;
    });
  }
  if (path == kAddPath) {
    std::optional<int64_t> after_us;
    fields.Flag("create", &call->create);
    fields.Number("lane", &call->add.lane);
    fields.Bytes("group", &call->add.group);
    fields.Number("after_us", &after_us);
    call->add.delay = std::chrono::microseconds(after_us.value_or(0));
    call->add.durability = call->durability;
  } else if (path == kChangePath) {
    if (!json.contains("change")) {
      fields.Fail("change");
    }
    fields.OneOf("change", kChangeNames, &call->change);
  } else if (path == kPausePath) {
    std::optional<int64_t> for_us;
    fields.Number("for_us", &for_us);
    if (for_us) {
      call->pause_for = std::chrono::microseconds(*for_us);
    }
  }
  fields.NoOthers();
  return fields.status();
}

}  // namespace wq::wire
