// The framing of RocksDB's logs: its write-ahead logs and its manifest. Internal to storage/.
//
//   LogSummary summary;
//   const LogUse use = {.take = [](std::string_view record) { … return Status::Ok(); }};
//   Status s = ScanLog(path, use, &summary);
//
// A log is blocks of 32 KiB. A block is fragments of
//   masked crc32c of all that follows the length (4, little-endian) · length (2) · type (1) ·
//   payload
// with types full 1, first 2, middle 3, last 4; less than a header's 7 bytes at a block's end are
// unused. wal_check.h says what is a torn tail and what is damage. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "wq/status.h"

namespace wq::storage {

struct LogSummary {
  uint64_t records = 0;      // Complete records.
  uint64_t valid_bytes = 0;  // To the end of the last complete record.
  bool torn = false;         // An incomplete record follows them.
  bool zeroed = false;  // Torn; and zeros to the end of the file replace the rest of that record.
};

struct LogUse {
  // Called with each complete record, in order. Its error becomes Corruption of the file.
  std::function<Status(std::string_view record)> take;
  // Whether a record may begin with `fragment`, whose checksum is right. Keys contain any bytes, so
  // they may imitate a fragment. Unset: every record may.
  std::function<bool(std::string_view fragment)> plausible = {};
  // Whether zeros from the beginning of a sector on may replace the rest of the last record: what
  // some file systems leave of bytes that were not synced at a power cut.
  bool zeros_are_torn = false;
};

// Reads a log from its beginning to its end. Corruption names the file and the offset; records
// taken before it are intact. NotFound: the file does not exist (any more).
Status ScanLog(const std::string& path, const LogUse& use, LogSummary* summary);

// A part of a log that could not be read.
struct LogGap {
  uint64_t begin = 0;  // Offsets in the file.
  uint64_t end = 0;
};

// Takes every intact record, and calls `lost` for each gap between them. A torn tail is a gap, too.
// Stops at an error of `take`.
Status SalvageLog(const std::string& path, const LogUse& use,
                  const std::function<void(const LogGap&)>& lost);

}  // namespace wq::storage
