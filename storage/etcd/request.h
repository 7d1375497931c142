// The parts of etcd's transactions, short to write and to read:
//
//   pb::TxnRequest txn;
//   *txn.add_compare() = CreatedAt(keys.Owner(), epoch);
//   Put(keys.Entry(7), bytes, txn.add_success());
//   Get(keys.Owner(), txn.add_failure());
//
// Threading: functions. Lifetime: the caller's. A crash: does not concern it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/etcd/client.h"
#include "storage/etcd/keys.h"

namespace wq::etcd {

// The conditions. A key that does not exist was created and changed at 0, and has the version 0.
pb::Compare CreatedAt(std::string key, int64_t revision);
pb::Compare ChangedAt(std::string key, int64_t revision);
pb::Compare Missing(std::string key);
pb::Compare AllMissing(KeyRange keys);
// No key of them was changed after `revision`. True if there are none.
pb::Compare AllChangedUntil(KeyRange keys, int64_t revision);
pb::Compare HasValue(std::string key, std::string_view value);

// The operations.
void Get(std::string key, pb::RequestOp* op);
// At most `limit` of them, in their order; 0: all.
void GetAll(KeyRange keys, int64_t limit, bool keys_only, pb::RequestOp* op);
void Put(std::string key, std::string_view value, pb::RequestOp* op);
void PutWithLease(std::string key, std::string_view value, int64_t lease, pb::RequestOp* op);
void Delete(std::string key, pb::RequestOp* op);
void DeleteAll(KeyRange keys, pb::RequestOp* op);

// The key that the operation `index` of the answer, a Get, has read; nullptr: it does not exist.
const pb::KeyValue* Found(const pb::TxnResponse& answer, int index);

}  // namespace wq::etcd
