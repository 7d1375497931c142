// The framing of RocksDB's logs: its write-ahead logs and its manifest. Internal to storage/.
//
//   LogSummary look;
//   Status s = ScanLog(path, {.take = [](std::string_view record) { … return Status::Ok(); }}, &look);
//
// Blocks of 32 KiB; in them fragments of
//   masked crc32c of all that follows the length (4, little endian) · length (2) · type (1) ·
//   payload
// with types full 1, first 2, middle 3, last 4; less than a header's 7 bytes at a block's end are
// unused. What is a torn tail and what is damage, wal_check.h tells. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "wq/status.h"

namespace wq::storage {

struct LogSummary {
  uint64_t records = 0;     // Whole ones.
  uint64_t good_bytes = 0;  // Up to the end of the last whole one.
  bool torn = false;        // Something incomplete follows them.
  bool zeroed = false;      // Torn; and it has its beginning, and zeros to the end of the file.
};

struct LogUse {
  // Gets each whole record, in order. What it finds wrong becomes Corruption of the file.
  std::function<Status(std::string_view record)> take;
  // Whether a record may begin with these bytes, the first fragment of one whose checksum fits:
  // keys are the users', and might look like one. Unset: any may.
  std::function<bool(std::string_view fragment)> plausible = {};
  // Whether zeros from the begin of a sector on may stand for the rest of the last record: what some file
  // systems leave of bytes that were not synced when the power went.
  bool zeros_are_torn = false;
};

// Reads a log from its beginning to its end. Corruption names the file and the offset; what was
// taken until then is whole. NotFound: it does not exist (any more).
Status ScanLog(const std::string& path, const LogUse& use, LogSummary* look);

// Goes on behind the last whole record of an earlier scan, of which *look is (or it is new): what was
// appended since.
Status ScanLogOn(const std::string& path, const LogUse& use, LogSummary* look);

// A part of a log that could not be read.
struct LogGap {
  uint64_t begin = 0;  // Offsets in the file.
  uint64_t end = 0;
};

// Takes every record that is whole, whatever lies between them; calls `lost` for what does. A torn
// tail is a gap too. An error of `take` ends it.
Status SalvageLog(const std::string& path, const LogUse& use,
                  const std::function<void(const LogGap&)>& lost);

// Little endian numbers. REQUIRES: so many bytes are there.
uint64_t ReadLittle(std::string_view bytes, size_t count);

}  // namespace wq::storage
