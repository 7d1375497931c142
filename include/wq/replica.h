// The directory of a replica of a replicated store (docs/replication.md), without its process.
//
//   wq::Status s = wq::DetachReplica("/var/lib/pods.wq");   // An ordinary store from now on.
//
// Threading: thread-safe. Lifetime: none. A crash: leaves a replica, or an ordinary store.
#pragma once

#include "wq/cxx20.h"

#include <string>

#include "wq/status.h"

namespace wq {

// Makes the replica in `dir` a store of this machine only, with all that this replica has. Its log
// and the other replicas stay as they are: they are another store from now on.
//   InvalidArgument  the store is not replicated, or this replica is not complete yet.
//   NotFound, Locked, Corruption, NotSupported   as Store::Open.
// Blocks: for opening and closing the store.
Status DetachReplica(const std::string& dir);

}  // namespace wq
