#include "tests/model/dump_records.h"

#include "storage/check.h"
#include "storage/records.h"

namespace wq::model {

std::string DumpRecords(const storage::Reader& reader) {
  constexpr storage::QueueId kFirst = 1;
  std::string text = "| pending";
  Status s = storage::ScanPending(reader, kFirst, [&](const storage::PendingRecord& r) {
    text += " " + std::string(r.key) + "@" + std::to_string(r.lane) + "/" + std::string(r.group);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | delayed";
  s = storage::ScanDelayed(reader, kFirst, [&](const storage::DelayedRecord& r) {
    text += " " + std::string(r.key) + "@" + std::to_string(r.lane) + "+" +
            std::to_string(r.ready_at_us) + "/" + std::string(r.group);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | failing";
  s = storage::ScanFailures(reader, kFirst, [&](const storage::FailureRecord& r) {
    text += " " + std::string(r.key) + "=" + std::to_string(r.count);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | quarantined";
  s = storage::ScanQuarantine(reader, kFirst, [&](const storage::QuarantineRecord& r) {
    text += " " + std::string(r.failures.key) + "@" + std::to_string(r.lane) + "=" +
            std::to_string(r.failures.count) + "/" + std::string(r.group);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | cursors";
  s = storage::ScanCursors(reader, kFirst, [&](const storage::CursorRecord& r) {
    text += " " + std::string(r.name) + "=" + std::string(r.value);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  std::string buffer;
  storage::QueueStateRecord own;
  s = storage::GetQueueState(reader, kFirst, &buffer, &own);
  WQ_CHECK(s.ok() || s.code() == StatusCode::kNotFound, s.message().c_str());
  if (own.paused) {
    text += " | paused " + std::to_string(own.paused_until_us);
  }
  return text;
}

}  // namespace wq::model
