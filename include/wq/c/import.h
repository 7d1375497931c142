// Importers, in C: write whole queues into a store, all of them or none. Begin with wq/wq.h;
// details are in wq/import.h.
//
//   code = wq_importer_open("pods.wq", NULL, &importer, &error);
//   if (code == WQ_OK) code = wq_importer_add(importer, "pods", &entry, &error);  // …
//   if (code == WQ_OK) code = wq_importer_finish(importer, NULL, &error);
//   wq_importer_free(importer, NULL);
//
// Without wq_importer_finish, or after a crash before it, the queues are unchanged. An importer
// owns the store until it is freed. Calls with one handle wait for each other.
#pragma once

#include "wq/c/base.h"
#include "wq/c/entry.h"
#include "wq/c/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_importer {
  uint64_t handle;
} wq_importer;

#define WQ_NO_IMPORTER \
  { 0 }

typedef struct wq_import_options {
  size_t size;
  int32_t must_exist;  // WQ_NOT_FOUND if there is no store, instead of creating one.
  int32_t replace;     // An imported queue replaces the queue of this name.
  int32_t dry_run;     // Check everything, but write nothing. Works beside an owner of the store.
} wq_import_options;

// Errors and blocking as wq_store_open. NULL options are all defaults.
WQ_EXPORT wq_code wq_importer_open(const char* dir, const wq_import_options* options,
                                   wq_importer* importer, wq_error* error);

// These calls may be made in any order; the first one that names a queue begins it. An error ends
// the import: later calls return WQ_SHUTTING_DOWN. WQ_INVALID_ARGUMENT: a queue cannot hold the
// data; the message says why. WQ_ALREADY_EXISTS: the queue exists, is not empty, and `replace` is
// 0.

// At most once for each queue. Without it created_at_us is the present, and the queue is not
// paused.
WQ_EXPORT wq_code wq_importer_set_queue(wq_importer importer, const wq_queue_info* info,
                                        wq_error* error);
WQ_EXPORT wq_code wq_importer_set_cursor(wq_importer importer, const char* queue, const char* name,
                                         const char* value, size_t value_size, wq_error* error);
// As wq_queue_set_limits; at most once for each group.
WQ_EXPORT wq_code wq_importer_set_limits(wq_importer importer, const char* queue, const char* group,
                                         size_t group_size, const wq_group_limits* limits,
                                         wq_error* error);
// Shards are ignored. A pending entry of sequence 0 is queued behind the entries added before it.
WQ_EXPORT wq_code wq_importer_add(wq_importer importer, const char* queue, const wq_entry* entry,
                                  wq_error* error);

typedef struct wq_import_counts {
  size_t size;
  uint64_t queues;
  uint64_t entries;
  uint64_t cursors;
  uint64_t limits;
} wq_import_counts;
// Gives the imported queues their names and closes the store. `counts` may be NULL. Blocks: for the
// disk.
WQ_EXPORT wq_code wq_importer_finish(wq_importer importer, wq_import_counts* counts,
                                     wq_error* error);
// Blocks: until calls that are under way have returned.
WQ_EXPORT wq_code wq_importer_free(wq_importer importer, wq_error* error);

#ifdef __cplusplus
}
#endif
