// The reader's database: a store's database as it was at the instant of opening, also beside a
// running owner. Internal to storage/.
#pragma once

#include <memory>
#include <string>

#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// OpenReader without the check of FORMAT, of the store `uuid`. With an empty `uuid` the database is
// read without its process log. REQUIRES: `dir` has no slash at its end.
Status OpenDatabaseReader(const std::string& dir, const std::string& uuid,
                          std::unique_ptr<Reader>* reader);

}  // namespace wq::storage
