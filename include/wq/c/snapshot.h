// Snapshots, in C: what a store held at one moment, kept, looked at (wq_view_open takes one), and made a
// store again. Begin with wq/wq.h; more in wq/snapshot.h.
//
//   code = wq_snapshot_create("/var/lib/pods.wq", "/backup/pods", NULL, &path, &error);
//   code = wq_snapshot_restore("/backup/pods", "/var/lib/pods.new.wq", NULL, &path, &error);
//
// They work on a store that is closed or has crashed, and beside a running owner. Nothing is ever left
// under its own name that is not whole, verified and synced.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_snapshot_options {
  size_t size;
  const char* name;     // 1 to 64 of [A-Za-z0-9._-], no dot in front. NULL: the present time.
  int32_t copy_tables;  // Even where they could be hard links: against damage on the disk.
  // Asked now and then; not 0 ends the call with WQ_IO_ERROR, and nothing is left. NULL: never.
  int32_t (*cancelled)(void* arg);
  void* arg;
} wq_snapshot_options;

// Puts a snapshot of the store `store` into the directory `dir`, which is made if it is missing. Where it
// is comes out in `path`, which may be NULL. WQ_NOT_FOUND, WQ_INVALID_ARGUMENT, WQ_ALREADY_EXISTS,
// WQ_LOCKED, WQ_CORRUPTION (the message names the file), WQ_IO_ERROR. Blocks: for reading all of it.
WQ_EXPORT wq_code wq_snapshot_create(const char* store, const char* dir,
                                     const wq_snapshot_options* options, wq_bytes* path,
                                     wq_error* error);

typedef struct wq_snapshot_info {
  size_t size;
  const char* name;
  const char* path;
  const char* uuid;       // Of the store that it was taken of.
  int64_t taken_at_us;    // Since 1970-01-01T00:00:00Z.
  uint64_t bytes;         // Of all its files.
  uint64_t linked_bytes;  // Of these, in tables that others (the store, other snapshots) have, too.
} wq_snapshot_info;
typedef int32_t (*wq_visit_snapshot)(void* arg, const wq_snapshot_info* info);
// The snapshots in `dir`, oldest first, until `visit` returns 0. If `dir` is a snapshot, that one.
// WQ_NOT_FOUND: there is no such directory, or it holds none.
WQ_EXPORT wq_code wq_snapshot_list(const char* dir, wq_visit_snapshot visit, void* arg,
                                   wq_error* error);

typedef struct wq_restore_options {
  size_t size;
  int32_t (*cancelled)(void* arg);  // As in wq_snapshot_options.
  void* arg;
} wq_restore_options;
// Makes a store of a snapshot at `into`, where nothing or an empty directory may be; `snapshot` is one,
// or a directory of them, and then it is the latest. Which one comes out in `from`, which may be NULL.
// Blocks: for reading and writing all of it.
WQ_EXPORT wq_code wq_snapshot_restore(const char* snapshot, const char* into,
                                      const wq_restore_options* options, wq_bytes* from,
                                      wq_error* error);

#ifdef __cplusplus
}
#endif
