#include "tests/model/dump_records.h"

#include "storage/check.h"
#include "storage/records.h"

namespace wq::model {

std::string DumpRecords(const storage::Reader& reader) {
  constexpr storage::QueueId kFirst = 1;
  std::string text = "| pending";
  Status s = storage::ScanPending(reader, kFirst, [&](const storage::PendingRecord& r) {
    text += " " + std::string(r.key) + "@" + std::to_string(r.lane);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | delayed";
  s = storage::ScanDelayed(reader, kFirst, [&](const storage::DelayedRecord& r) {
    text += " " + std::string(r.key) + "@" + std::to_string(r.lane) + "+" +
            std::to_string(r.ready_at_us);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  text += " | failing";
  s = storage::ScanFailures(reader, kFirst, [&](const storage::FailureRecord& r) {
    text += " " + std::string(r.key) + "=" + std::to_string(r.count);
    return true;
  });
  WQ_CHECK(s.ok(), s.message().c_str());
  return text;
}

}  // namespace wq::model
