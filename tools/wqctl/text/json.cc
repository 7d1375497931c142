#include "tools/wqctl/text/json.h"

#include <algorithm>
#include <array>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/json_fields.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr int kIndent = 2;

Json StoreJson(const wq::StoreInfo& store) {
  Json json;
  SetBytes("dir", store.dir, &json);
  json["uuid"] = store.uuid;
  json["format_version"] = store.format_version;
  json["created_at"] = FormatTime(store.created_at_us);
  json["snapshot_at"] = store.snapshot_at_us == 0 ? Json() : Json(FormatTime(store.snapshot_at_us));
  json["owner_pid"] = store.owner_pid == 0 ? Json() : Json(store.owner_pid);
  json["owner_alive"] = store.owner_alive;
  json["owner_closed"] = store.owner_closed;
  json["opened_at"] = store.opened_at_us == 0 ? Json() : Json(FormatTime(store.opened_at_us));
  json["written_at"] = store.written_at_us == 0 ? Json() : Json(FormatTime(store.written_at_us));
  json["wal_bytes"] = store.wal_bytes;
  json["process_log_bytes"] = store.process_log_bytes;
  Json& families = json["family_bytes"] = Json::object();
  for (const auto& [family, bytes] : store.family_bytes) families[family] = bytes;
  return json;
}

Json LanesJson(const wq::QueueSummary& queue) {
  Json lanes = Json::object();
  // Always both named lanes, so that a script need not check for them.
  lanes[wq::LaneName(wq::kFastLane)] = 0;
  lanes[wq::LaneName(wq::kSlowLane)] = 0;
  for (const auto& [lane, count] : queue.lanes) lanes[wq::LaneName(lane)] = count;
  return lanes;
}

Json DepthsJson(const wq::GroupDepths& depths, const std::string& name) {
  Json json;
  json["count"] = depths.count;
  json["max_error"] = depths.max_error;
  Json& top = json["top"] = Json::array();
  for (const wq::GroupDepth& group : depths.top) {
    Json& item = top.emplace_back();
    SetBytes(name, group.group, &item);
    item["pending"] = group.pending;
  }
  return json;
}

// [{"up_to": bound, "count": n}, …]; the last bucket has no bound.
template <typename T, size_t N, typename Bound>
Json HistogramJson(const wq::Histogram<T, N>& histogram, const std::array<T, N>& bounds,
                   const std::string& name, const Bound& bound) {
  Json json = Json::array();
  for (size_t i = 0; i <= N; ++i) {
    json.push_back(
        {{name, i < N ? Json(bound(bounds[i])) : Json()}, {"count", histogram.counts[i]}});
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
  json["paused"] = queue.paused;
  const auto until = queue.paused_until_us;
  json["paused_until"] = until ? Json(FormatTime(*until)) : Json();
  json["lanes"] = LanesJson(queue);
  if (queue.other_lanes > 0) json["other_lanes"] = queue.other_lanes;
  json["groups"] = DepthsJson(queue.groups, "group");
  json["namespaces"] = DepthsJson(queue.namespaces, "namespace");
  json["shards"] = queue.shards;
  const auto oldest = queue.oldest_added_at_us;
  const auto next = queue.next_ready_at_us;
  json["oldest_added_at"] = oldest ? Json(FormatTime(*oldest)) : Json();
  json["oldest_age_seconds"] =
      oldest ? Json(Seconds(std::max<int64_t>(0, now_us - *oldest))) : Json();
  json["next_ready_at"] = next ? Json(FormatTime(*next)) : Json();
  json["ages"] = HistogramJson(queue.ages, wq::kAgeBoundsUs, "up_to_seconds", Seconds);
  json["due"] = HistogramJson(queue.due, wq::kDueBoundsUs, "up_to_seconds", Seconds);
  json["delays"] = HistogramJson(queue.delays, wq::kDelayBoundsUs, "up_to_seconds", Seconds);
  json["failure_counts"] = HistogramJson(queue.failure_counts, wq::kFailureBounds, "up_to",
                                         [](uint64_t bound) { return bound; });
  Json& top = json["top_failing"] = Json::array();
  for (const wq::FailingKey& failing : queue.top_failing) top.push_back(FailingKeyJson(failing));
  Json& cursors = json["cursors"] = Json::object();
  for (const auto& [name, bytes] : queue.cursors) cursors[name] = bytes;
  if (queue.other_cursors > 0) json["other_cursors"] = queue.other_cursors;
  Json& sources = json["sources"] = Json::object();
  for (const auto& [name, objects] : queue.sources) sources[name] = objects;
  return json;
}

std::string Indented(const Json& json) { return JsonText(json, kIndent) + "\n"; }

// Each entry, with the key if that is given.
Json EntriesJson(const std::string_view* key, const std::vector<QueueEntries>& found) {
  Json list = Json::array();
  for (const QueueEntries& queue : found) {
    for (const wq::Entry& entry : queue.entries) {
      Json& item = list.emplace_back();
      item["queue"] = queue.queue;
      if (key != nullptr) SetBytes("key", *key, &item);
      SetState(entry, &item);
      if (entry.state == wq::EntryState::kPending && queue.position) {
        item["position"] = queue.position->at_least;
        item["position_at_most"] = queue.position->at_most;
      }
      item["next_delay_seconds"] =
          queue.next_delay ? Json(Seconds(queue.next_delay->count())) : Json();
    }
  }
  return list;
}

}  // namespace

Json FailingKeyJson(const wq::FailingKey& failing) {
  Json json;
  SetBytes("key", failing.key, &json);
  json["count"] = failing.failures.count;
  SetBytes("last_error", failing.failures.last_error, &json);
  json["first_at"] = FormatTime(failing.failures.first_at_us);
  json["last_at"] = FormatTime(failing.failures.last_at_us);
  return json;
}

std::string OutcomeText(const Outcome& outcome, Format format) {
  Json json;
  std::string text;
  for (const auto& [name, count, always] : outcome.counts) {
    json[name] = count;
    if (count == 0 && !always) continue;
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
  }
  if (outcome.dry_run) json["dry_run"] = *outcome.dry_run;
  if (format == Format::kJson) return Indented(json);
  if (format == Format::kJsonl) return JsonText(json) + "\n";
  std::replace(text.begin(), text.end(), '_', ' ');
  return outcome.prefix + text + "\n";
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
  json["entries"] = EntriesJson(nullptr, found);
  return Indented(json);
}

std::string SummaryLines(const std::vector<wq::QueueSummary>& queues, int64_t now_us) {
  std::string lines;
  for (const wq::QueueSummary& queue : queues) lines += JsonText(SummaryJson(queue, now_us)) + "\n";
  return lines;
}

std::string KeyLines(std::string_view key, const std::vector<QueueEntries>& found) {
  std::string lines;
  for (const Json& item : EntriesJson(&key, found)) lines += JsonText(item) + "\n";
  return lines;
}

void AppendWorkerJson(const wq::LiveWorkerInfo& worker, std::string* out) {
  const bool owner = worker.peer.empty();
  const auto of_worker = [owner](const auto& value) { return owner ? Json() : Json(value); };
  Json json;
  SetBytes("queue", worker.queue, &json);
  SetBytes("worker", worker.name, &json);
  json["peer"] = of_worker(worker.peer);
  json["capacity"] = of_worker(worker.capacity);
  json["connected_at"] = of_worker(FormatTime(worker.connected_at_us));
  json["last_heard_at"] = of_worker(FormatTime(worker.last_heard_at_us));
  json["shards"] = worker.shards;
  json["held_count"] = worker.held_count;
  Json& held = json["held"] = Json::array();
  for (const auto& key : worker.held) {
    Json& object = held.emplace_back();
    SetBytes("key", key.key, &object);
    object["token"] = key.token;
    object["attempt"] = key.attempt;
    object["since"] = FormatTime(key.since_us);
  }
  json["done"] = of_worker(worker.done);
  json["failed"] = of_worker(worker.failed);
  *out += JsonText(json);
}

std::string HistoryKindName(wq::HistoryKind kind) {
  constexpr std::array<const char*, 13> kNames = {
      "unknown",    "added",       "deduplicated", "delayed", "handed_out", "done",    "failed",
      "given_back", "quarantined", "released",     "removed", "forgotten",  "requeued"};
  const auto index = static_cast<size_t>(kind);
  return kNames[index < kNames.size() ? index : 0];
}

void AppendHistoryJson(const wq::HistoryEvent& event, std::string* out) {
  Json json;
  json["at"] = FormatTime(event.at_us);
  json["kind"] = HistoryKindName(event.kind);
  json["duration_us"] = event.duration_us;
  json["delay_us"] = event.delay_us;
  json["count"] = event.count;
  SetBytes("error", event.error, &json);
  SetBytes("worker", event.worker, &json);
  SetBytes("reason", event.reason, &json);
  *out += JsonText(json);
}

void AppendWhereJson(const std::string& where, const char* name, const std::string& what,
                     std::string* out) {
  out->append(JsonText({{"where", where}, {name, what}}));
}

void AppendErrorGroupJson(const wq::ErrorGroup& group, std::string* out) {
  Json json;
  SetBytes("queue", group.queue, &json);
  SetBytes("error", group.form, &json);
  json["keys"] = group.keys;
  json["quarantined"] = group.quarantined;
  json["failures"] = group.failures;
  json["first_at"] = FormatTime(group.first_at_us);
  json["last_at"] = FormatTime(group.last_at_us);
  for (const wq::ErrorGroup::Example& example : group.examples) {
    Json& one = json["examples"].emplace_back();
    SetBytes("key", example.key, &one);
    SetBytes("error", example.error, &one);
  }
  out->append(JsonText(json));
}

void AppendSnapshotJson(const wq::SnapshotInfo& snapshot, std::string* out) {
  Json json;
  SetBytes("name", snapshot.name, &json);
  SetBytes("path", snapshot.path, &json);
  json["uuid"] = snapshot.uuid.empty() ? Json() : Json(wq::EscapeKey(snapshot.uuid));
  json["taken_at"] = snapshot.taken_at_us == 0 ? Json() : Json(FormatTime(snapshot.taken_at_us));
  json["bytes"] = snapshot.bytes;
  json["linked_bytes"] = snapshot.linked_bytes;
  out->append(JsonText(json));
}

}  // namespace wqctl
