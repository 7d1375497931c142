// Replicated logs, in C: where the replicas of a store find one another. Begin with wq/wq.h;
// docs/replication.md describes replicated stores.
//
//   wq_replicated_log* log = NULL;  // wq_etcd_log_open sets it: wq/c/etcd.h.
//   …
//   wq_replication replication = {.size = sizeof replication, .log = log, .name = "node-1"};
//   wq_store_options options = {.size = sizeof options, .replication = &replication};
//
// A log is opened and passed to wq_store_open, and is not called. Threading: thread-safe. Lifetime:
// a store keeps what it needs of its log, so the log may be freed while the store is open.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_replicated_log wq_replicated_log;

// NULL is ignored.
WQ_EXPORT void wq_replicated_log_free(wq_replicated_log* log);

#ifdef __cplusplus
}
#endif
