// Diffs, in C: how keys differ between two states of queues. Begin with wq/wq.h; details are in
// wq/entry_diff.h.
//
//   static int32_t before(void* diff, const wq_entry* entry) {
//     return wq_diff_add(*(wq_diff*)diff, WQ_BEFORE, "pods", entry, NULL) == WQ_OK;
//   }
//   code = wq_diff_open(NULL, &diff, &error);
//   if (code == WQ_OK) code = wq_view_entries(view, "pods", before, &diff, &error);
//   …  // The same for WQ_AFTER.
//   if (code == WQ_OK) code = wq_diff_run(diff, show, NULL, &error);
//   wq_diff_free(diff, NULL);
//
// Both sides are sorted by queue and key, in unnamed files where memory does not suffice, so a
// crash leaves nothing behind. Calls with one handle wait for each other; a visitor must not call
// with the handle of its diff.
#pragma once

#include "wq/c/base.h"
#include "wq/c/entry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_diff {
  uint64_t handle;
} wq_diff;

#define WQ_NO_DIFF \
  { 0 }

typedef struct wq_diff_options {
  size_t size;
  size_t memory_bytes;      // For both sides together. 0: 64 MiB.
  const char* scratch_dir;  // NULL: $TMPDIR, or /tmp.
} wq_diff_options;

WQ_EXPORT wq_code wq_diff_open(const wq_diff_options* options, wq_diff* diff, wq_error* error);

enum { WQ_BEFORE = 0, WQ_AFTER = 1 };

// Adds an entry to a side, in any order. WQ_IO_ERROR: the scratch file cannot be written.
WQ_EXPORT wq_code wq_diff_add(wq_diff diff, int32_t side, const char* queue, const wq_entry* entry,
                              wq_error* error);

// A key that differs between the sides. Shards are not compared.
typedef struct wq_key_diff {
  size_t size;
  const char* queue;
  const char* key;
  size_t key_size;
  const wq_entry* const* before;  // Its entries, by state. None: the key did not exist.
  size_t before_count;
  const wq_entry* const* after;
  size_t after_count;
  int32_t added;  // If this or `removed` is set, the others are 0.
  int32_t removed;
  int32_t moved;    // Its states or its lane differ.
  int32_t failed;   // It has failed more often.
  int32_t changed;  // It differs in something else.
} wq_key_diff;
typedef int32_t (*wq_visit_key_diff)(void* arg, const wq_key_diff* key);
// Visits the keys that differ, by queue, then by the bytes of the key, until `visit` returns 0. May
// be called once. Blocks: for sorting.
WQ_EXPORT wq_code wq_diff_run(wq_diff diff, wq_visit_key_diff visit, void* arg, wq_error* error);

// Blocks: until calls that are under way have returned.
WQ_EXPORT wq_code wq_diff_free(wq_diff diff, wq_error* error);

#ifdef __cplusplus
}
#endif
