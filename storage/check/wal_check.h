// Checks of the write-ahead logs before RocksDB opens them. Internal to storage/. Thread-safe.
//
// RocksDB must tolerate a log whose end is missing: a killed writer leaves such a torn tail. It
// distinguishes a torn tail from damage by the length in a record's header alone, so one flipped
// bit there makes it drop that record and all later ones, without an error. The distinction here:
//
//   torn tail   The file ends inside its last record; or it ends in zeros instead of the last
//               record, or instead of its rest from the beginning of a sector on: what some file
//               systems leave of bytes that were not synced at a power cut. Nothing that was
//               acknowledged as durable is missing.
//   Corruption  Any other record that is not intact; and a torn record that intact records
//               follow, in the same file or, by sequence number, in the next one.
//
// Every single flipped bit that changes the contents of a log is found, also in the last record: if
// only the length is wrong, the checksum still matches the present bytes; and a record that ends in
// zeros of its own, and is one bit away from being intact, did not lose its end. Nothing in the
// file can show that a log was cut off, at the end of a record or inside it, or zeroed from there:
// it is the same as after a kill or a power cut. Zeros followed by other bytes, which a power cut
// can leave of writes that were never synced, are Corruption: damage to synced bytes could be the
// same.
//
// Except after a power cut, sequence numbers continue without a gap from record to record and from
// log to log: so a log that is missing between two others is found as well.
//
// The framing is that of log_scan.h. A complete record is a write batch: sequence (8,
// little-endian) · count (4) · mutations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "storage/check/log_scan.h"
#include "storage/check/manifest.h"
#include "storage/rocksdb/store_env.h"
#include "wq/status.h"

namespace wq::storage {

inline constexpr size_t kBatchHeaderBytes = 12;  // Sequence and count.

// The contents of one log.
struct WalSummary : LogSummary {
  // Of the first record, and the one after the last record.
  std::optional<uint64_t> first_sequence;
  uint64_t next_sequence = 0;
};

// Reads one log. Corruption names the file and the offset. NotFound: the file does not exist (any
// more).
Status CheckWal(const std::string& path, WalSummary* summary);

// Reads all logs that the manifest needs. Corruption names a log that is damaged, missing, or
// before missing records. `valid_lengths`, unless null, gets those of logs with a zero-filled tail.
// A running owner may append during the call: its last record then is torn.
Status CheckWals(const std::string& dir, const Manifest& manifest, ValidLengths* valid_lengths);

// Names the write-ahead log that is missing or cut off, if the process log shows that the database
// has lost its latest records: nothing in the other files does.
std::string DescribeLostEnd(const std::string& dir, const Manifest& manifest);

// How ScanLog and SalvageLog read a write-ahead log. Fills *summary, and calls `take` unless it is
// unset.
LogUse WalUse(WalSummary* summary, std::function<Status(std::string_view batch)> take);

// The logs of a store from number `first` on, oldest first.
using WalFile = NumberedFile;
Status ListWals(const std::string& dir, uint64_t first, std::vector<WalFile>* wals);

}  // namespace wq::storage
