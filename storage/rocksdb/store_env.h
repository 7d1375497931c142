// StoreEnv: the Env through which RocksDB sees the files of a store. Internal to storage/.
//
//   const ValidLengths lengths = {{"000012.log", 40'960}};  // From CheckWals.
//   const std::unique_ptr<rocksdb::Env> env = StoreEnv(options.env, lengths);
//   options.env = env.get();
//
// After a power cut a log, or the manifest, may end in a record of which the rest is zeros. RocksDB
// would report Corruption, so this Env ends the file before that record. The file itself is not
// changed: the next opening finds the same, until the owner has written the log's records to tables
// and removed it.
//
// RocksDB reserves space for its log, so that the sync of a write has less to write, but more than
// a whole write buffer at once. On a disk that has less than that, it takes all there is, and the
// tables of the next flush or closing have no space, however few the records are. So a step is a
// MiB here. Thread-safe. Lifetime: the Env must outlive the databases on it.
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

// `base` is borrowed. With `hides_logs` a database is opened as if it had no write-ahead logs.
std::unique_ptr<rocksdb::Env> StoreEnv(rocksdb::Env* base, ValidLengths lengths,
                                       bool hides_logs = false);

}  // namespace wq::storage
