// Snapshots, in C: copies of a store at one instant, to be read (wq_view_open opens them) and
// restored. Begin with wq/wq.h; details are in wq/snapshot.h.
//
//   code = wq_snapshot_create("/var/lib/pods.wq", "/backup/pods", NULL, &path, &error);
//   code = wq_snapshot_restore("/backup/pods", "/var/lib/pods.new.wq", NULL, &path, &error);
//
// The calls work on a closed or crashed store, and beside a running owner. A snapshot or store gets
// its name only when it is complete, verified and synced.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_snapshot_options {
  size_t size;
  const char* name;     // 1 to 64 of [A-Za-z0-9._-], no dot in front. NULL: the present time.
  int32_t copy_tables;  // Copy tables instead of linking them: protects against damage on disk.
  // Called from time to time. A result other than 0 ends the call with WQ_IO_ERROR and removes all
  // that it has written. NULL: not cancelled.
  int32_t (*cancelled)(void* arg);
  void* arg;
} wq_snapshot_options;

// Creates a snapshot of the store `store` in the directory `dir`, which is created if it is
// missing. *path (may be NULL) is the path of the snapshot. WQ_NOT_FOUND, WQ_INVALID_ARGUMENT,
// WQ_ALREADY_EXISTS, WQ_LOCKED, WQ_CORRUPTION (the message names the file), WQ_IO_ERROR. Blocks:
// for reading the store.
WQ_EXPORT wq_code wq_snapshot_create(const char* store, const char* dir,
                                     const wq_snapshot_options* options, wq_bytes* path,
                                     wq_error* error);

typedef struct wq_snapshot_info {
  size_t size;
  const char* name;
  const char* path;
  const char* uuid;       // Of the store.
  int64_t taken_at_us;    // Since 1970-01-01T00:00:00Z.
  uint64_t bytes;         // The size of all its files.
  uint64_t linked_bytes;  // Of these, in tables shared with the store or other snapshots.
} wq_snapshot_info;
typedef int32_t (*wq_visit_snapshot)(void* arg, const wq_snapshot_info* info);
// Visits the snapshots in `dir`, oldest first, until `visit` returns 0. If `dir` is itself a
// snapshot, visits it. WQ_NOT_FOUND: the directory does not exist or contains no snapshot.
WQ_EXPORT wq_code wq_snapshot_list(const char* dir, wq_visit_snapshot visit, void* arg,
                                   wq_error* error);

typedef struct wq_restore_options {
  size_t size;
  int32_t (*cancelled)(void* arg);  // As in wq_snapshot_options.
  void* arg;
} wq_restore_options;
// Creates a store at `into` from a snapshot. `into` must not exist or must be an empty directory.
// `snapshot` is a snapshot, or a directory of snapshots of which the latest is restored. *from (may
// be NULL) is the path of the restored snapshot. Blocks: for reading and writing all files.
WQ_EXPORT wq_code wq_snapshot_restore(const char* snapshot, const char* into,
                                      const wq_restore_options* options, wq_bytes* from,
                                      wq_error* error);

#ifdef __cplusplus
}
#endif
