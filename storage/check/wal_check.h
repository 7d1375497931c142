// A look at the write-ahead logs before RocksDB opens them. Internal to storage/.
//
// RocksDB must tolerate a log whose end is missing: that is what a killed writer leaves. It tells
// such a torn tail from damage by the length in a record's header alone, so that one flipped bit
// there makes it forget that record and all after it, silently. This look tells them apart with
// care:
//
//   torn tail   The file ends inside its last record; or zeros to its end stand where that would be, or
//               from the begin of a sector on for the rest of it: what some file systems leave of bytes
//               that were not synced when the power went. Nothing that was acknowledged as durable is
//               missing.
//   Corruption  Any other record that is not whole, and a torn one that whole records follow, in its
//               own file or in the sequence numbers of the next one.
//
// Every single flipped bit that changes what the log says is found, in the last record too: if only
// the length is wrong, the checksum still fits the bytes that are there; and a record that ends in zeros
// of its own, and is one bit away from being whole, is none that lost its end. What nothing in the file
// can show is a log that was cut off, at the end of a record or inside it, or zeroed from there: that looks
// as if its writer had been killed, or the power had gone. Zeros with anything but zeros behind them, which
// a power cut can leave of writes that were never synced, are called Corruption: the same could be
// damage to synced ones.
//
// A power cut apart, two logs follow one another without a gap in their sequence numbers, and so do
// the records of one log: so a log that is missing between two others is found as well.
//
// The framing is log_scan.h's. A whole record is a write batch: sequence (8, little endian) ·
// count (4) · mutations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/check/log_scan.h"
#include "storage/check/manifest.h"
#include "storage/rocksdb/valid_lengths.h"
#include "wq/status.h"

namespace wq::storage {

// What one log holds.
struct WalSummary : LogSummary {
  // Of the first whole record, and the one that comes after the last.
  std::optional<uint64_t> first_sequence;
  uint64_t next_sequence = 0;
};

// Reads one log. Corruption names the file and the offset. NotFound: it does not exist (any more).
Status CheckWal(const std::string& path, WalSummary* look);

// Reads all logs of a store that its manifest needs. Corruption: one of them is damaged, or one is
// missing. A running owner may be appending meanwhile: its last record then is torn. `ends` may be null.
Status CheckWals(const std::string& dir, const Manifest& manifest, ValidLengths* ends);

// What logs are read with: which bytes a batch may begin with.
LogUse WalUse(WalSummary* look, std::function<Status(std::string_view batch)> take);

// The logs of a store, oldest first.
struct WalFile {
  uint64_t number = 0;
  std::string name;
};
Status ListWals(const std::string& dir, std::vector<WalFile>* wals);

}  // namespace wq::storage
