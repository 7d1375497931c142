// Fuzz target: the scan and the salvage of a write-ahead log. Any bytes give a Status, and the
// salvage returns at least the records that the scan returns, in the same order.
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "scratch_file.h"
#include "storage/check/log_scan.h"
#include "storage/check/wal_check.h"

namespace wq::storage {
namespace {

// A use of a log that keeps its records.
LogUse Keep(WalSummary* summary, std::vector<std::string>* records) {
  return WalUse(summary, [records](std::string_view record) {
    records->emplace_back(record);
    return Status::Ok();
  });
}

std::vector<std::string> Scanned(const std::string& path, bool* sound) {
  std::vector<std::string> records;
  WalSummary summary;
  *sound = ScanLog(path, Keep(&summary, &records), &summary).ok();
  WQ_CHECK(!*sound || summary.records == records.size(), "records miscounted");
  return records;
}

std::vector<std::string> Salvaged(const std::string& path, uint64_t size) {
  std::vector<std::string> records;
  WalSummary summary;
  uint64_t gaps_end = 0;
  const Status status =
      SalvageLog(path, Keep(&summary, &records), [&gaps_end, size](const LogGap& gap) {
        WQ_CHECK(gap.begin < gap.end && gap.end <= size, "a bad gap");
        WQ_CHECK(gap.begin >= gaps_end, "gaps overlap");
        gaps_end = gap.end;
      });
  // The only other error is a whole record that is too short for a batch.
  WQ_CHECK(status.ok() || status.code() == StatusCode::kCorruption, "salvage failed");
  return records;
}

}  // namespace
}  // namespace wq::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const wq::fuzz::ScratchFiles scratch;
  const std::string path = scratch.Write("000004.log", data, size);
  bool sound = false;
  const auto scanned = wq::storage::Scanned(path, &sound);
  const auto salvaged = wq::storage::Salvaged(path, size);
  WQ_CHECK(salvaged.size() >= scanned.size(), "salvage lost a record");
  for (size_t n = 0; n < scanned.size(); ++n) {
    WQ_CHECK(salvaged[n] == scanned[n], "salvage changed a record");
  }
  wq::storage::WalSummary summary;
  const wq::Status checked = wq::storage::CheckWal(path, &summary);
  WQ_CHECK(!checked.ok() || sound, "the check accepts a log that the scan refuses");
  return 0;
}
