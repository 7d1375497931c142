// The Env through which RocksDB accesses files: the default, or in tests one that fails, or loses
// what was not synced. The library's own file calls go through base/file_calls.h. Threading: call
// UseEnv only while no store is open.
#pragma once

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

// For stores that are opened from now on. Borrowed; null: RocksDB's default.
void UseEnv(rocksdb::Env* env);

rocksdb::Env* CurrentEnv();  // Never null.

}  // namespace wq::storage
