#include "tools/wqctl/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/wqctl/duration.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

using Json = nlohmann::ordered_json;  // Fields stay in the order in which they are set.

constexpr int kIndent = 2;

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < n ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text.push_back(j <= n ? kAlphabet[group >> (18 - 6 * j) & 0x3F] : '=');
    }
  }
  return text;
}

// `name`: the bytes as a string, or `name`_base64 where a JSON string cannot hold them.
void SetBytes(const std::string& name, std::string_view bytes, Json* object) {
  if (wq::IsValidUtf8(bytes)) {
    (*object)[name] = bytes;
  } else {
    (*object)[name + "_base64"] = Base64(bytes);
  }
}

double Seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

Json StoreJson(const wq::StoreInfo& store) {
  Json json;
  SetBytes("dir", store.dir, &json);
  json["uuid"] = store.uuid;
  json["format_version"] = store.format_version;
  json["created_at"] = FormatTime(store.created_at_us);
  json["owner_pid"] = store.owner_pid == 0 ? Json() : Json(store.owner_pid);
  json["owner_alive"] = store.owner_alive;
  return json;
}

Json FailingKeyJson(const wq::FailingKey& failing) {
  Json json;
  SetBytes("key", failing.key, &json);
  json["count"] = failing.failures.count;
  SetBytes("last_error", failing.failures.last_error, &json);
  json["first_at"] = FormatTime(failing.failures.first_at_us);
  json["last_at"] = FormatTime(failing.failures.last_at_us);
  return json;
}

Json LanesJson(const wq::QueueSummary& queue) {
  Json lanes = Json::object();
  // Both named lanes always, so that a script need not ask first.
  lanes[wq::LaneName(wq::kFastLane)] = 0;
  lanes[wq::LaneName(wq::kSlowLane)] = 0;
  for (const auto& [lane, count] : queue.lanes) lanes[wq::LaneName(lane)] = count;
  return lanes;
}

Json GroupsJson(const wq::QueueSummary& queue) {
  Json json;
  json["count"] = queue.groups;
  json["max_error"] = queue.group_error;
  Json& top = json["top"] = Json::array();
  for (const wq::GroupDepth& group : queue.top_groups) {
    Json& item = top.emplace_back();
    SetBytes("group", group.group, &item);
    item["pending"] = group.pending;
  }
  return json;
}

Json SummaryJson(const wq::QueueSummary& queue, int64_t now_us) {
  Json json;
  json["name"] = queue.name;
  json["pending"] = queue.pending;
  json["delayed"] = queue.delayed;
  json["failing"] = queue.failing;
  json["quarantined"] = queue.quarantined;
  json["paused"] = queue.PausedAt(now_us);
  const auto until = queue.paused_until_us;
  json["paused_until"] = until ? Json(FormatTime(*until)) : Json();
  json["lanes"] = LanesJson(queue);
  if (queue.other_lanes > 0) json["other_lanes"] = queue.other_lanes;
  json["groups"] = GroupsJson(queue);
  json["shards"] = queue.shards;
  const auto oldest = queue.oldest_added_at_us;
  const auto next = queue.next_ready_at_us;
  json["oldest_added_at"] = oldest ? Json(FormatTime(*oldest)) : Json();
  json["oldest_age_seconds"] =
      oldest ? Json(Seconds(std::max<int64_t>(0, now_us - *oldest))) : Json();
  json["next_ready_at"] = next ? Json(FormatTime(*next)) : Json();
  Json& top = json["top_failing"] = Json::array();
  for (const wq::FailingKey& failing : queue.top_failing) top.push_back(FailingKeyJson(failing));
  Json& cursors = json["cursors"] = Json::object();
  for (const auto& [name, bytes] : queue.cursors) cursors[name] = bytes;
  if (queue.other_cursors > 0) json["other_cursors"] = queue.other_cursors;
  return json;
}

// What an entry holds beside its queue and key.
void SetState(const wq::Entry& entry, Json* json) {
  using State = wq::EntryState;
  (*json)["state"] = StateName(entry.state);
  if (entry.state != State::kFailing) {
    (*json)["lane"] = wq::LaneName(entry.lane);
    if (!entry.group.empty()) SetBytes("group", entry.group, json);
    if (entry.shard) (*json)["shard"] = *entry.shard;
  }
  if (entry.state == State::kPending) (*json)["sequence"] = entry.sequence;
  if (entry.state == State::kPending || entry.state == State::kDelayed) {
    (*json)["added_at"] = FormatTime(entry.added_at_us);
  }
  if (entry.state == State::kDelayed) (*json)["ready_at"] = FormatTime(entry.ready_at_us);
  if (entry.state == State::kQuarantined) {
    (*json)["quarantined_at"] = FormatTime(entry.quarantined_at_us);
  }
  (*json)["failures"] = entry.failures ? entry.failures->count : 0;
  if (entry.failures) SetBytes("last_error", entry.failures->last_error, json);
}

std::string Indented(const Json& json) { return json.dump(kIndent) + "\n"; }

}  // namespace

std::string AddResultJson(uint64_t added, uint64_t deduplicated, uint64_t held, uint64_t refused) {
  return Indented(
      {{"added", added}, {"deduplicated", deduplicated}, {"held", held}, {"refused", refused}});
}

std::string ChangeResultJson(std::string_view done, uint64_t count, uint64_t not_found,
                             bool dry_run) {
  Json json;
  json[std::string(done)] = count;
  json["not_found"] = not_found;
  json["dry_run"] = dry_run;
  return Indented(json);
}

std::string SummariesJson(const wq::StoreInfo& store, const std::vector<wq::QueueSummary>& queues,
                          int64_t now_us) {
  Json json;
  json["store"] = StoreJson(store);
  Json& list = json["queues"] = Json::array();
  for (const wq::QueueSummary& queue : queues) list.push_back(SummaryJson(queue, now_us));
  return Indented(json);
}

std::string KeyJson(const wq::StoreInfo& store, std::string_view key,
                    const std::vector<QueueEntries>& found) {
  Json json;
  json["store"] = StoreJson(store);
  SetBytes("key", key, &json);
  Json& list = json["entries"] = Json::array();
  for (const QueueEntries& queue : found) {
    for (const wq::Entry& entry : queue.entries) {
      Json& item = list.emplace_back();
      item["queue"] = queue.queue;
      SetState(entry, &item);
      if (entry.state == wq::EntryState::kDelayed) item["delay_seconds"] = Seconds(entry.delay_us);
      if (!entry.failures || entry.failures->count == 0) continue;
      item["first_failure_at"] = FormatTime(entry.failures->first_at_us);
      item["last_failure_at"] = FormatTime(entry.failures->last_at_us);
    }
  }
  return Indented(json);
}

void AppendEntryJson(std::string_view queue, const wq::Entry& entry, std::string* out) {
  Json json;
  json["queue"] = queue;
  SetBytes("key", entry.key, &json);
  SetState(entry, &json);
  out->append(json.dump());
}

void AppendCursorJson(std::string_view queue, std::string_view name, uint64_t bytes,
                      std::string* out) {
  out->append(Json({{"queue", queue}, {"name", name}, {"bytes", bytes}}).dump());
}

std::string_view StateName(wq::EntryState state) {
  switch (state) {
    case wq::EntryState::kPending:
      return "pending";
    case wq::EntryState::kDelayed:
      return "delayed";
    case wq::EntryState::kFailing:
      return "failing";
    case wq::EntryState::kQuarantined:
      return "quarantined";
  }
  return "unknown";
}

}  // namespace wqctl
