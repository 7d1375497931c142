// Reading records from a store's files without opening its database. For the checks before an
// opening, and for salvage. Internal to storage/. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "storage/check/manifest.h"
#include "storage/mutation_batch.h"
#include "storage/records.h"
#include "wq/status.h"

namespace wq::storage {

// Calls `visit` with each change of a log's record, which is as long as a batch's header at least,
// and its sequence, in order. Corruption: the record is not a batch of puts and erases.
using VisitChange = std::function<void(const Mutation& change, uint64_t sequence)>;
Status ForEachChange(std::string_view batch, const VisitChange& visit);

// Reads the store's own record from its tables, or else from its logs. It has one version, since it
// is written once (see also OwnerDatabase::Renew). NotFound. Corruption names the file.
Status FindStoreRecord(const std::string& dir, const Manifest& manifest, StoreRecord* record);

// Reads the newest record of the process log from the logs, or else from the tables. A store
// without one had no process log yet. Corruption names the file.
Status FindProcessLog(const std::string& dir, const Manifest& manifest, ProcessLogRecord* record);

}  // namespace wq::storage
