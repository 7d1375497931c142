// The one door to opening a store: a damaged store is refused here.
//
//   ValidLengths valid_lengths;
//   Status s = CheckStore(dir, info.format, &valid_lengths);  // Before RocksDB opens `dir`.
//
// RocksDB trusts much of what it reads, and changes files as soon as it opens a database. So all that
// can be known of the files is checked before, by reading them:
//
//   manifest.h     the manifest is whole: which families, tables and logs the store consists of
//   CheckFamilies  the families are those of this format
//   table_check.h  each table is there, has its size, ends as a table does, and its blocks are whole
//   wal_check.h    each log is there, whole up to a torn tail, and follows the one before
//   CheckOpens     RocksDB itself opens it, without its logs
//   CheckStoreRecord  the database belongs to this FORMAT
//
// None of these changes anything. Corruption names the file; IOError: something could not be read.
// Internal to storage/. Thread-safe.
#pragma once

#include <string>

#include "storage/check/manifest.h"
#include "storage/records.h"
#include "storage/rocksdb/valid_lengths.h"
#include "storage/store_directory.h"
#include "wq/status.h"

namespace wq::storage {

// All of them, for an owner. `valid_lengths`: of the logs of which RocksDB must not see the tail.
// Blocks: for reading every table and log.
Status CheckStore(const std::string& dir, const Format& format, ValidLengths* valid_lengths);

// Those that a reader needs: all but the blocks of the tables, CheckOpens and CheckStoreRecord.
Status CheckDatabase(const std::string& dir, Manifest* manifest, ValidLengths* valid_lengths);

// Whether the database has exactly the families of this format. Corruption: one is missing;
// NotSupported: there is one that this version does not know.
Status CheckFamilies(const std::string& dir, const Manifest& manifest);

// Whether RocksDB opens the database, logs apart.
Status CheckOpens(const std::string& dir, const Manifest& manifest);

// Corruption if the store's own record is not what FORMAT says. `found`: the outcome of reading it.
Status CheckStoreRecord(const std::string& dir, const Status& found, const StoreRecord& record,
                        const Format& format);

}  // namespace wq::storage
