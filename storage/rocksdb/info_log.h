// OpenInfoLog: the file LOG with RocksDB's warnings and errors. Internal to storage/.
//
// RocksDB's own logger aborts the process (an assert of Debian's build) at the second message that
// it cannot write, as on a full disk. This one drops messages that it cannot write. LOG is renamed
// to LOG.old.1 at kMaxLogBytes, so both together stay below twice that. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace rocksdb {
class Logger;
}  // namespace rocksdb

namespace wq::storage {

inline constexpr size_t kMaxLogBytes = size_t{1} << 20;

// Appends to `dir`/LOG. Never fails: if the file cannot be opened, each message tries again.
std::shared_ptr<rocksdb::Logger> OpenInfoLog(const std::string& dir);

}  // namespace wq::storage
