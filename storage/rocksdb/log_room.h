// LogRoom: in which steps RocksDB reserves space for its write-ahead log. Internal to storage/.
//
//   const std::unique_ptr<rocksdb::Env> env = EnvWithLogRoom(options.env);
//   options.env = env.get();
//
// The sync of a write to reserved space has less to write. RocksDB reserves more than a whole write
// buffer at once. On a disk that has less than that, it takes all there is, and the tables of the
// next flush or closing have no space, however few the records are. So a step is a MiB here.
// Thread-safe. Lifetime: the Env must outlive the databases.
#pragma once

#include <memory>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

// `base` is borrowed.
std::unique_ptr<rocksdb::Env> EnvWithLogRoom(rocksdb::Env* base);

}  // namespace wq::storage
