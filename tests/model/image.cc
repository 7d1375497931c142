#include "tests/model/image.h"

#include <algorithm>
#include <optional>

#include "storage/records.h"

namespace wq::model {
namespace {

std::vector<std::string> Reasons(std::string_view causes) {
  std::vector<std::string> reasons;
  for (const Cause& cause : storage::DecodeCauses(causes).list) {
    reasons.push_back(cause.reason);
  }
  return reasons;
}

std::string Joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) {
    text += "," + reason;
  }
  return text;
}

}  // namespace

void Image::CountAges() {
  std::vector<uint64_t> places;
  for (const Pending& p : pending) {
    places.push_back(p.age);
  }
  std::sort(places.begin(), places.end());
  for (Pending& p : pending) {
    p.age = static_cast<uint64_t>(std::lower_bound(places.begin(), places.end(), p.age) -
                                  places.begin());
  }
}

std::string Image::ToString() const {
  std::string text = "| pending";
  for (const Pending& p : pending) {
    text += " " + p.key + "@" + std::to_string(p.lane) + "/" + p.group + "#" +
            std::to_string(p.age) + Joined(p.reasons);
  }
  text += " | delayed";
  for (const Delayed& d : delayed) {
    text += " " + d.key + "@" + std::to_string(d.lane) + "+" + std::to_string(d.ready_at_us) + "/" +
            d.group + Joined(d.reasons) + (d.resync ? "~" : "");
  }
  text += " | failing";
  for (const auto& [key, count] : failing) {
    text += " " + key + "=" + std::to_string(count);
  }
  text += " | quarantined";
  for (const auto& [key, q] : quarantined) {
    text +=
        " " + key + "@" + std::to_string(q.lane) + "=" + std::to_string(q.failures) + "/" + q.group;
  }
  text += " | cursors";
  for (const auto& [name, value] : cursors) {
    text += " " + name + "=" + value;
  }
  text += " | objects for " + std::to_string(fingerprint) + " of " + std::to_string(scope);
  for (const auto& [object, row] : objects) {
    text += " " + object + "=" + row;
  }
  if (paused) {
    text += " | paused " + std::to_string(paused_until_us) + " " + std::to_string(paused_at_us);
  }
  return text + (limiter_state.empty() ? "" : " | limiter " + limiter_state);
}

Status ReadImage(const storage::Reader& reader, storage::QueueId queue, Image* image) {
  *image = {};
  Status s = storage::ScanPending(reader, queue, [&](const storage::PendingRecord& r) {
    image->pending.push_back(
        {std::string(r.key), r.lane, std::string(r.group), r.sequence, Reasons(r.causes)});
    return true;
  });
  image->CountAges();
  if (s.ok()) {
    s = storage::ScanDelayed(reader, queue, [&](const storage::DelayedRecord& r) {
      image->delayed.push_back({std::string(r.key), r.lane, r.ready_at_us, std::string(r.group),
                                Reasons(r.causes), r.resync});
      return true;
    });
  }
  if (s.ok()) {
    s = storage::ScanFailures(reader, queue, [&](const storage::FailureRecord& r) {
      image->failing.emplace(r.key, r.count);
      return true;
    });
  }
  if (s.ok()) {
    s = storage::ScanQuarantine(reader, queue, [&](const storage::QuarantineRecord& r) {
      image->quarantined.emplace(
          r.failures.key, Image::Quarantined{r.lane, r.failures.count, std::string(r.group)});
      return true;
    });
  }
  if (s.ok()) {
    s = storage::ScanCursors(reader, queue, [&](const storage::CursorRecord& r) {
      image->cursors.emplace(r.name, r.value);
      return true;
    });
  }
  if (s.ok()) {
    s = storage::ScanSources(
        reader, queue,
        [&](const storage::SourceRecord& r) {
          if (!r.name.empty()) {
            image->fingerprint = r.fingerprint;
            image->scope = r.scope;
          }
          return true;
        },
        [&](const storage::ObjectRecord& r) {
          std::string& row = image->objects[std::string(r.object)];
          row = std::string(r.version) + "/" + std::to_string(r.fingerprint) + "/" +
                std::to_string(r.scope);
          std::vector<std::string_view> keys;
          if (!storage::DecodeKeys(r.keys, r.object, &keys)) {
            row += " damaged";
          }
          for (const std::string_view key : keys) {
            row.append(",").append(key);
          }
          row.append("/").append(r.tombstone);
          return true;
        });
  }
  std::string buffer;
  storage::QueueStateRecord own;
  if (s.ok()) {
    s = storage::GetQueueState(reader, queue, &buffer, &own);
    if (s.code() == StatusCode::kNotFound) {  // A new queue has none.
      return {};
    }
  }
  image->paused = own.paused;
  image->paused_until_us = own.paused ? own.paused_until_us : 0;
  image->paused_at_us = own.paused ? own.paused_at_us : 0;
  image->limiter_state = own.limiter_state;
  return s;
}

Status ReadImage(const storage::Reader& reader, const std::string& queue, Image* image) {
  *image = {};
  std::optional<storage::QueueId> id;
  const Status s = storage::ScanQueues(reader, [&](const storage::QueueRecord& record) {
    id = record.name == queue ? record.id : id;
    return true;
  });
  return s.ok() && id.has_value() ? ReadImage(reader, *id, image) : s;
}

}  // namespace wq::model
