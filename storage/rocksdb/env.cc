#include "storage/rocksdb/env.h"

#include <rocksdb/env.h>

namespace wq::storage {
namespace {

rocksdb::Env* env_in_use = nullptr;

}  // namespace

void UseEnv(rocksdb::Env* env) { env_in_use = env; }

rocksdb::Env* CurrentEnv() { return env_in_use == nullptr ? rocksdb::Env::Default() : env_in_use; }

}  // namespace wq::storage
