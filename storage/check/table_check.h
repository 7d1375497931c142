// Checks of table files before RocksDB reads them. Internal to storage/. Thread-safe.
//
// RocksDB uses the last bytes of a table before it verifies them: the version, the type of
// checksum, and the properties, whose checksum it verifies only afterwards. With one flipped bit
// there, it misreads the rest until an assert of Debian's build aborts the process. So these bytes
// are checked here.
#pragma once

#include <cstdint>
#include <string>

#include "storage/check/manifest.h"
#include "wq/status.h"

namespace wq::storage {

// Ok if the file ends as a table that wq writes, and its properties are intact. Corruption names
// the file.
Status CheckTableEnd(const std::string& path);

// Whether every table that the manifest names exists, has its size, and passes CheckTableEnd.
// Corruption names the file.
Status CheckTableEnds(const std::string& dir, const Manifest& manifest);

// Has RocksDB verify every block of these tables. Corruption names the file. Blocks: reads them
// all. Adds to *records, unless null, about how many records they hold.
Status CheckTables(const std::string& dir, const Manifest& manifest, uint64_t* records = nullptr);

}  // namespace wq::storage
