#include <utility>

#include "server/json_reader.h"
#include "server/wire.h"

namespace wq::wire {
namespace {

Json HealthJson(const Status& health) {
  return health.ok() ? Json{{"ok", true}}
                     : Json{{"ok", false},
                            {"code", StatusCodeName(health.code())},
                            {"message", health.message()}};
}

StatusCode CodeOf(const std::string& name) {
  for (int i = 1; i <= static_cast<int>(StatusCode::kNotSupported); ++i) {
    if (StatusCodeName(static_cast<StatusCode>(i)) == name) {
      return static_cast<StatusCode>(i);
    }
  }
  return StatusCode::kIOError;
}

Json CountsJson(const QueueCounts& counts) {
  Json lanes = Json::object();
  for (const auto& [lane, items] : counts.lanes) {
    lanes[std::to_string(lane)] = items;
  }
  return {{"queued", counts.queued},
          {"processing", counts.processing},
          {"delayed", counts.delayed},
          {"failing", counts.failing},
          {"quarantined", counts.quarantined},
          {"paused", counts.paused},
          {"adds", counts.adds},
          {"dones", counts.dones},
          {"failures", counts.failures},
          {"lanes", std::move(lanes)}};
}

bool DecodeQueue(const Json& json, LiveQueue* queue) {
  if (!json.is_object()) {
    return false;
  }
  JsonReader fields(json);
  QueueCounts& counts = queue->counts;
  fields.Bytes("name", &queue->name);
  fields.Flag("open", &queue->open);
  fields.Flag("shutting_down", &queue->shutting_down);
  fields.Number("queued", &counts.queued);
  fields.Number("processing", &counts.processing);
  fields.Number("delayed", &counts.delayed);
  fields.Number("failing", &counts.failing);
  fields.Number("quarantined", &counts.quarantined);
  fields.Flag("paused", &counts.paused);
  fields.Number("adds", &counts.adds);
  fields.Number("dones", &counts.dones);
  fields.Number("failures", &counts.failures);
  if (const Json* const lanes = fields.Object("lanes"); lanes != nullptr) {
    JsonReader items(*lanes);
    for (const auto& [name, _] : lanes->items()) {
      if (const std::optional<Lane> lane = ParseLane(name); lane) {
        items.Number(name.c_str(), &counts.lanes[*lane]);
      }
    }
  }
  return fields.status().ok();
}

bool DecodeRefused(const Json& json, BatchResult* result) {
  if (!json.is_object()) {
    return false;
  }
  JsonReader fields(json);
  size_t index = 0;
  std::string code;
  std::string message;
  fields.Number("index", &index);
  fields.Bytes("code", &code);
  fields.Bytes("message", &message);
  result->refused.emplace_back(index, Status(CodeOf(code), std::move(message)));
  return fields.status().ok();
}

// Reads an object by `read(fields)`.
template <typename Read>
Status Decode(std::string_view text, const Read& read) {
  Json json;
  if (Status s = ParseObject(text, &json); !s.ok()) {
    return s;
  }
  JsonReader fields(json);
  read(fields);
  return fields.status();
}

}  // namespace

std::string EncodeInfo(const LiveInfo& info) {
  Json json{{"pid", info.pid}, {"uuid", info.uuid}, {"health", HealthJson(info.health)}};
  Json& queues = json["queues"] = Json::array();
  for (const LiveQueue& queue : info.queues) {
    Json& item = queues.emplace_back(Json{{"name", queue.name}, {"open", queue.open}});
    if (queue.open) {
      item["shutting_down"] = queue.shutting_down;
      item.update(CountsJson(queue.counts));
    }
  }
  return Text(json);
}

std::string EncodeBatch(const BatchResult& result) {
  Json json{{"added", result.added}, {"deduplicated", result.deduplicated}, {"held", result.held}};
  Json& refused = json["refused"] = Json::array();
  for (const auto& [index, why] : result.refused) {
    refused.push_back(
        {{"index", index}, {"code", StatusCodeName(why.code())}, {"message", why.message()}});
  }
  return Text(json);
}

std::string EncodeChanged(const ChangeResult& result) {
  return Text({{"done", result.done}, {"absent", result.absent}});
}

std::string EncodeResumed(bool was_paused) { return Text({{"was_paused", was_paused}}); }

std::string EncodeError(const Status& status) {
  return Text({{"code", StatusCodeName(status.code())}, {"message", status.message()}});
}

Status DecodeInfo(std::string_view text, LiveInfo* info) {
  *info = {};
  return Decode(text, [&](JsonReader& fields) {
    fields.Number("pid", &info->pid);
    fields.Bytes("uuid", &info->uuid);
    if (const Json* const health = fields.Object("health"); health != nullptr) {
      bool ok = true;
      JsonReader parts(*health);
      parts.Flag("ok", &ok);
      info->health = ok ? Status::Ok() : DecodeError(health->dump());
    }
    fields.Each("queues", [info](const Json& queue) {
      return DecodeQueue(queue, &info->queues.emplace_back());
    });
  });
}

Status DecodeBatch(std::string_view text, BatchResult* result) {
  *result = {};
  return Decode(text, [&](JsonReader& fields) {
    fields.Number("added", &result->added);
    fields.Number("deduplicated", &result->deduplicated);
    fields.Number("held", &result->held);
    fields.Each("refused",
                [result](const Json& refused) { return DecodeRefused(refused, result); });
  });
}

Status DecodeChanged(std::string_view text, ChangeResult* result) {
  *result = {};
  return Decode(text, [&](JsonReader& fields) {
    fields.Number("done", &result->done);
    fields.Each("absent", [result](const Json& index) {
      if (!index.is_number_unsigned()) {
        return false;
      }
      result->absent.push_back(index.get<size_t>());
      return true;
    });
  });
}

Status DecodeResumed(std::string_view text, bool* was_paused) {
  return Decode(text, [&](JsonReader& fields) { fields.Flag("was_paused", was_paused); });
}

Status DecodeError(std::string_view text) {
  Json json;
  std::string code;
  std::string message;
  if (ParseObject(text, &json).ok()) {
    JsonReader fields(json);
    fields.Bytes("code", &code);
    fields.Bytes("message", &message);
  }
  return code.empty() ? Status::IOError("the answer is not from a wq server")
                      : Status(CodeOf(code), std::move(message));
}

}  // namespace wq::wire
