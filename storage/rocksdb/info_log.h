// LOG, where RocksDB tells of its own doings: warnings and errors. Internal to storage/.
//
// RocksDB's own logger aborts the process (an assert of Debian's build) at the second message that it
// cannot write, so on a full disk. This one drops what it cannot write. LOG is renamed to LOG.old.1 at
// kMaxLogBytes, so both together stay below twice that. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace rocksdb {
class Logger;
}  // namespace rocksdb

namespace wq::storage {

inline constexpr size_t kMaxLogBytes = size_t{1} << 20;

// Appends to `dir`/LOG. Never fails: a log that cannot be opened is tried again with each message.
std::shared_ptr<rocksdb::Logger> OpenInfoLog(const std::string& dir);

}  // namespace wq::storage
