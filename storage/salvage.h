// Reading all that can be read of a damaged store's files, without its database. Internal to storage/
// and engine/.
//
//   SalvagedRecords records;
//   Status s = Salvage("/var/lib/pods.wq", "/var/lib/scratch", &records);
//
// Tables that are sound are put together by RocksDB, in a copy. Of a damaged one the records before
// its first and behind its last damaged block are taken. Of the logs every whole record is taken,
// also beyond a damaged one. If the manifest cannot be read, all tables that there are count.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/mutation_batch.h"
#include "wq/status.h"

namespace wq::storage {

struct SalvagedRecords {
  std::map<std::pair<Family, std::string>, std::string> values;  // By family and record key.
  // What was lost: the file, and what of it.
  std::vector<std::pair<std::string, std::string>> losses;
};

// Changes nothing in `dir`. `scratch` is a directory for copies; it must not exist, and is left for
// the caller to remove.
Status Salvage(const std::string& dir, const std::string& scratch, SalvagedRecords* records);

}  // namespace wq::storage
