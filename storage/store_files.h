// The sizes and times of a store's files, read without opening them.
#pragma once

#include <cstdint>
#include <string>

namespace wq::storage {

struct StoreFilesInfo {
  uint64_t wal_bytes = 0;
  uint64_t process_log_bytes = 0;
  int64_t opened_at_us = 0;   // The last write of OWNER, which is an owner's first.
  int64_t written_at_us = 0;  // The last write of any log or table.
};

// A value that cannot be read is 0. Changes nothing. Thread-safe.
StoreFilesInfo InspectStoreFiles(const std::string& dir);

}  // namespace wq::storage
