// Every check of a store before RocksDB opens it: a damaged store is refused here.
//
//   ValidLengths valid_lengths;
//   Status s = CheckStore(dir, format, &valid_lengths);        // An owner;
//   Status s = CheckDatabase(dir, &manifest, &valid_lengths);  // a reader.
//   … StoreEnv(env, valid_lengths) …                           // Then RocksDB opens `dir`.
//
// RocksDB trusts much of what it reads, and changes files as soon as it opens a database. So the
// files are read and checked before that, in this order:
//
//   ReadManifest      manifest.h     the manifest is complete: it names families, tables and logs
//   CheckFamilies     below          the families are those of this format
//   CheckTableEnds    table_check.h  each table exists, has its size, and ends as a table does
//   CheckWals         wal_check.h    each log is intact up to a torn tail, and none is missing
//   CheckTables       table_check.h  every block of each table is intact
//   CheckOpens        below          RocksDB itself opens the database, without its logs
//   CheckStoreRecord  below          the database belongs to this FORMAT
//   AppendUnwritten   below          the process log continues the database
//
// No check changes anything in `dir`. Corruption names the file; IOError: a file could not be read.
// A directory without FORMAT is not checked here: see CheckUnfinished (database/own_directory.h).
// Internal to storage/. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "storage/check/manifest.h"
#include "storage/process_log/read_process_log.h"
#include "storage/records.h"
#include "storage/rocksdb/store_env.h"
#include "storage/store_directory.h"
#include "wq/status.h"

namespace wq::storage {

// All checks, for an owner. `valid_lengths`: of the files whose tail RocksDB must not read.
// Blocks: reads every table and log.
Status CheckStore(const std::string& dir, const Format& format, ValidLengths* valid_lengths);

// The first four checks, for a reader. The reader then opens the database, and calls
// CheckStoreRecord with the record that it reads there. Blocks: reads every log.
Status CheckDatabase(const std::string& dir, Manifest* manifest, ValidLengths* valid_lengths);

bool HasFamily(const Manifest& manifest, std::string_view name);
// Whether the database has exactly the families of this format, under their numbers; a store of an
// earlier version may lack the later ones. Corruption: a family is missing or has another number;
// NotSupported: there is a family that this version does not know.
Status CheckFamilies(const std::string& dir, const Manifest& manifest);

// Whether RocksDB opens the database, without its logs.
Status CheckOpens(const std::string& dir, const Manifest& manifest);

// As logs.AppendUnwritten (process_log/read_process_log.h): what the process log has and the
// database lacks. If it shows that the database has lost records, Corruption names the write-ahead
// log.
Status AppendUnwritten(const std::string& dir, const Manifest& manifest,
                       const FoundProcessLogs& logs, const ProcessLogRecord& record,
                       const std::string& uuid, MutationBatch* unwritten);

// Corruption if the database's store record does not match FORMAT. `read`: the outcome of reading
// `record`, by FindStoreRecord (closed_database.h) or GetStore.
Status CheckStoreRecord(const std::string& dir, const Status& read, const StoreRecord& record,
                        const Format& format);

}  // namespace wq::storage
