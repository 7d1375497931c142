// A look at a store's files from outside: how large, and when they were written.
#pragma once

#include <cstdint>
#include <string>

namespace wq::storage {

struct StoreFilesInfo {
  uint64_t wal_bytes = 0;
  int64_t opened_at_us = 0;   // When OWNER was written last: by the owner, as its first act.
  int64_t written_at_us = 0;  // When any log or table was.
};

// As far as it can be told: 0 for what cannot. Changes nothing.
StoreFilesInfo InspectStoreFiles(const std::string& dir);

}  // namespace wq::storage
