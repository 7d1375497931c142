// The Env through which RocksDB reaches files: the machine's, or in tests one that fails, or forgets what
// was not synced. What storage does with files itself goes through base/file_calls.h.
// Threading: UseEnv before and after the stores that it concerns, not beside them.
#pragma once

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

// For stores that are opened from now on. Borrowed; null: RocksDB's default.
void UseEnv(rocksdb::Env* env);

rocksdb::Env* CurrentEnv();  // Never null.

}  // namespace wq::storage
