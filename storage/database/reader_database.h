// The reader's database: a view of a store's database at the moment of opening, beside its owner if there
// is one. Internal to storage/.
#pragma once

#include <memory>
#include <string>

#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// OpenReader without the check of FORMAT. REQUIRES: `dir` has no slash at its end.
Status OpenDatabaseReader(const std::string& dir, std::unique_ptr<Reader>* reader);

}  // namespace wq::storage
