#include "gateway.h"

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "wq/keys.h"

namespace etcd_mirror {
namespace {

using nlohmann::json;

// The end of the range of all keys with this prefix.
std::string EndOf(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // To etcd, that is the end of all keys.
  ++prefix.back();
  return prefix;
}

json RangeOf(std::string_view key, bool prefix) {
  json range = {{"key", wq::ToBase64(key)}};
  if (prefix) range["range_end"] = wq::ToBase64(EndOf(std::string(key)));
  return range;
}

// etcd's JSON has bytes in base64, and 64-bit numbers as strings.
std::string Bytes(const json& object, const char* field) {
  return wq::FromBase64(object.value(field, "")).value_or("");
}
int64_t Number(const json& object, const char* field) {
  return std::strtoll(object.value(field, "0").c_str(), nullptr, 10);
}

wq::Status Unreachable(const std::string& address, const std::string& why) {
  return wq::Status::IOError("etcd " + address + ": " + why);
}

// One line of a watch's answer.
wq::Status Take(const std::string& line, int64_t from,
                const std::function<wq::Status(const Events&)>& take) {
  const json message = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object() || !message.contains("result")) {
    return wq::Status::IOError("etcd's watch answers: " + line);
  }
  const json& result = message["result"];
  if (Number(result, "compact_revision") > 0) {
    return wq::Status::NotFound("revision " + std::to_string(from) + " was compacted");
  }
  if (result.value("canceled", false)) return wq::Status::IOError("etcd has ended the watch");
  Events events;
  events.revision = Number(result.value("header", json::object()), "revision");
  for (const json& event : result.value("events", json::array())) {
    events.keys.push_back(Bytes(event.value("kv", json::object()), "key"));
  }
  return events.keys.empty() ? wq::Status::Ok() : take(events);
}

}  // namespace

wq::Status Gateway::Read(std::string_view key, bool prefix, KeyRange* range) {
  *range = {};
  httplib::Client client("http://" + address_);
  const httplib::Result answer =
      client.Post("/v3/kv/range", RangeOf(key, prefix).dump(), "application/json");
  if (!answer) return Unreachable(address_, httplib::to_string(answer.error()));
  const json body = json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (answer->status != 200 || !body.is_object()) return Unreachable(address_, answer->body);
  range->revision = Number(body.value("header", json::object()), "revision");
  for (const json& entry : body.value("kvs", json::array())) {
    range->entries.push_back({Bytes(entry, "key"), Bytes(entry, "value")});
  }
  return range->revision > 0 ? wq::Status::Ok() : Unreachable(address_, "an answer of no revision");
}

wq::Status Gateway::Watch(std::string_view prefix, int64_t revision,
                          const std::function<wq::Status(const Events&)>& take) {
  httplib::Client client("http://" + address_);
  client.set_read_timeout(5);
  json create = RangeOf(prefix, true);
  create["start_revision"] = std::to_string(revision);
  std::string unread;
  wq::Status status;
  httplib::Request request;
  request.method = "POST";
  request.path = "/v3/watch";
  request.body = json({{"create_request", create}}).dump();
  request.set_header("Content-Type", "application/json");
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    unread.append(data, size);
    for (size_t end = unread.find('\n'); end != std::string::npos && status.ok();
         end = unread.find('\n')) {
      status = Take(unread.substr(0, end), revision, take);
      unread.erase(0, end + 1);
    }
    return status.ok();
  };
  const httplib::Result answer = client.send(request);
  if (!status.ok()) return status;
  return Unreachable(address_, answer ? "the watch has ended" : httplib::to_string(answer.error()));
}

}  // namespace etcd_mirror
