// A look at the write-ahead logs before RocksDB opens them. Internal to storage/.
//
// RocksDB must tolerate a log whose end is missing: that is what a killed writer leaves. It tells
// such a torn tail from damage by the length in a record's header alone, so that one flipped bit
// there makes it forget that record and all after it, silently. This look tells them apart with
// care:
//
//   torn tail   The file ends inside its last record; or zeros stand where its last record would
//   be.
//               Nothing that was acknowledged as durable is missing.
//   Corruption  Any other record that is not whole, and a torn one that whole records follow, in
//   its
//               own file or in the sequence numbers of the next one.
//
// Every single flipped bit that changes what the log says is found, in the last record too: if only
// the length is wrong, the checksum still fits the bytes that are there. What nothing in the file
// can show is a log that was cut off, at the end of a record or inside it: that looks as if its
// writer had been killed. Zeros with whole records behind them, which a power cut can leave of
// writes that were never synced, are called Corruption: the same could be damage to synced ones.
//
// The format: blocks of 32 KiB; in them records of
//   masked crc32c of all that follows the length (4, little endian) · length (2) · type (1) ·
//   payload
// with types full 1, first 2, middle 3, last 4; less than a header's 7 bytes at a block's end are
// unused. A whole payload is a write batch: sequence (8, little endian) · count (4) · mutations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wq/status.h"

namespace wq::storage {

// What one log holds.
struct WalLook {
  uint64_t records = 0;     // Whole ones.
  uint64_t good_bytes = 0;  // Up to the end of the last whole one.
  bool torn = false;        // Something incomplete follows them.
  // Of the first whole record, and the one that comes after the last.
  std::optional<uint64_t> first_sequence;
  uint64_t next_sequence = 0;
};

// Reads one log. Corruption names the file and the offset. NotFound: it does not exist (any more).
Status CheckWal(const std::string& path, WalLook* look);

// Reads all logs of a store. A running owner may be appending meanwhile: its last record then is
// torn.
Status CheckWals(const std::string& dir);

}  // namespace wq::storage
