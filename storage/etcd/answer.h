// What etcd's answers say of a log, checked: for the log and its followers. A key that does not
// exist is a nullptr.
//
// Threading: functions. Lifetime: the caller's. A crash: does not concern it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/etcd/client.h"
#include "storage/etcd/keys.h"
#include "wq/replicated_log.h"

namespace wq::etcd {

// Appends the entries that etcd has returned. Corruption: they are not those from `next` on.
Status TakeEntries(const Keys& keys, const pb::RangeResponse& range, LogSequence next,
                   std::vector<LogEntry>* entries);
// The number of the first entry that is kept. `kv`: the key `first`, or nullptr.
Status ReadFirst(const pb::KeyValue* kv, LogSequence* first);
Status ReadOwner(const pb::KeyValue* kv, LogOwner* owner);
Status ReadSuccessor(const pb::KeyValue* kv, std::string* successor);

// So many entries are read at once: at most 4 MiB.
inline constexpr int64_t kPageEntries = 64;

}  // namespace wq::etcd
