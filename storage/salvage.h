// Salvage: reads every record that is still readable in a damaged store's files, without opening
// its database. Internal to storage/ and engine/.
//
//   SalvagedRecords records;
//   Status s = Salvage("/var/lib/pods.wq", "/var/lib/scratch", {}, {}, &records);
//
// RocksDB reads a copy of each undamaged table. Of a damaged table, the records before its first
// and after its last damaged block are taken. Of the logs, every complete record is taken, even
// behind a damaged one. The manifest says which tables and logs are needed, if it fits the present
// files; otherwise every table and log in the directory is taken. If it fits the tables, changes of
// logs that the tables contain are not taken again. Of each record the version with the highest
// sequence is kept, or of the younger file, if one of them has lost its sequence in the last level;
// damaged tables, and tables of another database, only add records that no other file has. Of the
// process log what an opening would take is taken; if it would refuse the log, every intact record,
// and that is a loss.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/mutation_batch.h"
#include "wq/status.h"
#include "wq/verify.h"

namespace wq::storage {

struct SalvagedRecords {
  std::map<std::pair<Family, std::string>, std::string> values;  // By family and record key.
  bool has_store_record = false;  // The database is a store's. The record itself is not in values.
  // What was lost: the file, and what part of it.
  std::vector<std::pair<std::string, std::string>> losses;
};

// Changes nothing in `dir`. Creates the directory `scratch` for the copies; the caller removes it.
// `progress` may be empty; its step is "reading files". `cancelled` may be empty; true ends the
// call. IOError: a file cannot be read or written, or the call was cancelled. Blocks: reads the
// whole store.
Status Salvage(const std::string& dir, const std::string& scratch, const ProgressCallback& progress,
               const std::function<bool()>& cancelled, SalvagedRecords* records);

}  // namespace wq::storage
