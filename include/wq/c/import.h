// Importers, in C: write whole queues into a store, all of them or none. Begin with wq/wq.h; more in
// wq/import.h.
//
//   code = wq_importer_open("pods.wq", NULL, &importer, &error);
//   if (code == WQ_OK) code = wq_importer_add(importer, "pods", &entry, &error);  // …
//   if (code == WQ_OK) code = wq_importer_finish(importer, NULL, &error);
//   wq_importer_free(importer, NULL);
//
// Without wq_importer_finish, or after a crash before it, the queues are what they were. An importer owns
// the store until it is freed. Calls of one importer wait for each other.
#pragma once

#include "wq/c/base.h"
#include "wq/c/entry.h"

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
  int32_t must_exist;  // WQ_NOT_FOUND where there is no store, not a new one.
  int32_t replace;     // A queue that is imported takes the place of the one of this name.
  int32_t dry_run;     // Check everything, and write nothing. Works beside an owner of the store.
} wq_import_options;

// As wq_store_open. NULL options are all defaults.
WQ_EXPORT wq_code wq_importer_open(const char* dir, const wq_import_options* options,
                                   wq_importer* importer, wq_error* error);

// Each of these names a queue, in any order, and may be the first to do so. After an error the import
// is over. WQ_INVALID_ARGUMENT: what no queue could hold; the message says what. WQ_ALREADY_EXISTS: the
// queue is there, not empty, and `replace` is off.

// At most once a queue; otherwise the queue is created now, and not paused.
WQ_EXPORT wq_code wq_importer_set_queue(wq_importer importer, const wq_queue_info* info,
                                        wq_error* error);
WQ_EXPORT wq_code wq_importer_set_cursor(wq_importer importer, const char* queue, const char* name,
                                         const char* value, size_t value_size, wq_error* error);
// Shards are not looked at. A pending entry of sequence 0 comes after all that came before it.
WQ_EXPORT wq_code wq_importer_add(wq_importer importer, const char* queue, const wq_entry* entry,
                                  wq_error* error);

typedef struct wq_import_counts {
  size_t size;
  uint64_t queues;
  uint64_t entries;
  uint64_t cursors;
} wq_import_counts;
// Gives what was imported its names, and closes the store. `counts` may be NULL. Blocks: for the disk.
WQ_EXPORT wq_code wq_importer_finish(wq_importer importer, wq_import_counts* counts,
                                     wq_error* error);
// Blocks: until calls that are under way have returned.
WQ_EXPORT wq_code wq_importer_free(wq_importer importer, wq_error* error);

#ifdef __cplusplus
}
#endif
