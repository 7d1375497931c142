#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/json_fields.h"
#include "tools/wqctl/watch/watch_sample.h"

namespace wqctl {

void AppendSampleJson(const Sample& sample, const QueueSample& queue, std::string* out) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json json;
  json["time"] = FormatTime(sample.wall_us);
  json["live"] = sample.live;
  json["owner_pid"] = sample.owner_pid == 0 ? Json() : Json(sample.owner_pid);
  json["healthy"] = sample.live ? Json(sample.health.ok()) : Json();
  json["queue"] = queue.name;
  json["pending"] = queue.pending;
  json["processing"] = or_null(queue.processing);
  json["delayed"] = queue.delayed;
  json["failing"] = queue.failing;
  json["quarantined"] = queue.quarantined;
  json["paused"] = queue.paused;
  json["pending_change_per_second"] = or_null(queue.pending_change);
  json["added_per_second"] = or_null(queue.added);
  json["done_per_second"] = or_null(queue.done);
  json["failed_per_second"] = or_null(queue.failed);
  Json& top = json["top_failing"] = Json::array();
  for (const wq::FailingKey& failing : queue.top_failing) top.push_back(FailingKeyJson(failing));
  *out += json.dump();
}

}  // namespace wqctl
