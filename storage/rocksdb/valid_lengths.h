// ValidLengths: the valid length of logs with a zero-filled tail. Internal to storage/.
//
//   const ValidLengths lengths = {{"000012.log", 40'960}};  // From CheckWals.
//   const std::unique_ptr<rocksdb::Env> env = EnvWithValidLengths(options.env, lengths);
//   if (env != nullptr) options.env = env.get();
//
// After a power cut a log, or the manifest, may end in a record of which the rest is zeros. RocksDB
// would report Corruption, so this Env ends the file before that record. The file itself is not
// changed: the next opening finds the same, until the owner has written the log's records to tables
// and removed it. Thread-safe. Lifetime: the Env must outlive the databases on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

// By file name: how many bytes of the file are valid.
using ValidLengths = std::map<std::string, uint64_t>;

// Null if `lengths` is empty. `base` is borrowed.
std::unique_ptr<rocksdb::Env> EnvWithValidLengths(rocksdb::Env* base, ValidLengths lengths);

// The same, and without the write-ahead logs: a database is opened as if it had none. Never null.
std::unique_ptr<rocksdb::Env> EnvWithoutLogs(rocksdb::Env* base, ValidLengths lengths);

}  // namespace wq::storage
