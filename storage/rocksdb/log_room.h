// LogRoom: how much space RocksDB reserves for a new write-ahead log. Internal to storage/.
//
//   const std::unique_ptr<rocksdb::Env> env = EnvWithLogRoom(options.env, write_buffer_bytes);
//   options.env = env.get();
//
// The sync of a write to reserved space has less to write. RocksDB reserves a tenth more than a
// write buffer, but FamilyOptions sets the size of a write buffer out of reach: see
// OwnerDatabase::FlushFullFamilies. Thread-safe. Lifetime: the Env must outlive the databases.
#pragma once

#include <cstddef>
#include <memory>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

// `base` is borrowed.
std::unique_ptr<rocksdb::Env> EnvWithLogRoom(rocksdb::Env* base, size_t write_buffer_bytes);

}  // namespace wq::storage
