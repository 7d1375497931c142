// The end of a table file, looked at before RocksDB reads it. Internal to storage/.
//
// RocksDB believes the last bytes of a table before it checks anything: which version it is of, how
// its blocks are checked, and what its properties say, whose checksum it looks at only afterwards. One
// bit there, and it reads the rest as what it is not, until an assert of Debian's build ends the
// process.
#pragma once

#include <string>

#include "storage/check/manifest.h"
#include "wq/status.h"

namespace wq::storage {

// Ok if the end is that of a table as we write them, and its properties are whole. Corruption names
// the file. Thread-safe.
Status CheckTableEnd(const std::string& path);

// Whether all tables that the manifest names are there, in their sizes, and end as tables do. Corruption names the file.
Status CheckTableEnds(const std::string& dir, const Manifest& manifest);

// Reads every block of them. Corruption names the file. Blocks: for reading the whole store.
Status CheckTables(const std::string& dir, const Manifest& manifest);

}  // namespace wq::storage
