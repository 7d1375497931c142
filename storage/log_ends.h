// Logs that RocksDB sees up to an end of ours only, where more would be damage to it. Internal to storage/.
//
//   LogEnds ends;                                     // By CheckWals: {{"000012.log", 40'960}}.
//   const std::unique_ptr<rocksdb::Env> shortened = EnvWithLogEnds(options.env, ends);
//   if (shortened != nullptr) options.env = shortened.get();
//
// Nothing is changed on the disk: the next opening finds what this one found, until the owner has put the
// log's records into tables and removed it. Thread-safe. Lifetime: that of the databases on it, and longer.
#pragma once

#include <memory>

#include "storage/wal_check.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

// Null if no log has an end of its own. `base` is borrowed.
std::unique_ptr<rocksdb::Env> EnvWithLogEnds(rocksdb::Env* base, LogEnds ends);

}  // namespace wq::storage
