// Sources, in C: what feeds a queue with objects, and remembers in the store which state of each it
// has fed. Begin with wq/wq.h; wq/source.h describes the calls, docs/sources.md what they do, with
// an example.
#pragma once

#include "wq/c/base.h"
#include "wq/c/options.h"

#ifdef __cplusplus
extern "C" {
#endif

// A handle of the source, which is made if there is none. WQ_INVALID_ARGUMENT: a bad name (it is as
// that of a cursor); too many sources; the store is in memory. Blocks: for at most one write.
WQ_EXPORT wq_code wq_queue_open_source(wq_queue queue, const char* name, wq_source* source,
                                       wq_error* error);
// Frees a handle of a source or of a list; otherwise wq_store_free does. What the source remembers
// stays. A list that has not ended is abandoned: nothing is taken for deleted.
// WQ_INVALID_ARGUMENT: called in a callback. Blocks: until its calls that are under way have
// returned.
WQ_EXPORT wq_code wq_source_free(wq_source source, wq_error* error);
// Removes the source of this name and all that it remembers; its keys stay. WQ_NOT_FOUND: there is
// none. Blocks: for erasing its objects.
WQ_EXPORT wq_code wq_queue_remove_source(wq_queue queue, const char* name, wq_error* error);

// What is seen of an object: see Observation in wq/source.h, which has the bounds, too.
typedef struct wq_observation {
  size_t size;
  const char* object;
  size_t object_size;
  const char* version;
  size_t version_size;  // 0: the object counts as changed.
  const char* keys;     // A key list (wq/c/base.h).
  size_t keys_size;
  const char* tombstone;
  size_t tombstone_size;
  int32_t filtered;  // 1: nothing is added; see Observation.
  // 1: the object is gone: these keys and those of its row are added, and the row is erased. The
  // other fields are not used.
  int32_t deleted;
  // NULL, or asks what a changed object was: becomes its row, as a key list of the object, its
  // version, its tombstone and its keys, and nothing is done. Otherwise it becomes empty, unless an
  // argument is refused. See Observation.
  wq_bytes* before;
} wq_observation;
typedef struct wq_observe_result {
  size_t size;
  int32_t changed;  // 0: nothing was done.
  size_t added;     // Of the keys.
  size_t deduplicated;
  size_t held;
} wq_observe_result;
// Records what is seen, and adds the keys unless the object is unchanged. Of a list: the object is
// in the list; one that is `deleted` is erased only if it was not seen since the list began.
// `options` and `result` may be NULL. After WQ_NOT_DURABLE, WQ_NOT_OWNER, WQ_NO_MEMORY and
// WQ_INTERNAL it may have been made, and is repeated; after another error no key was added, and the
// row is as before. WQ_FULL: no room for all of the keys. WQ_NOT_FOUND: the source, which
// is no list, was removed. Blocks: as Source::Observe in wq/source.h.
WQ_EXPORT wq_code wq_source_observe(wq_source source, const wq_observation* observation,
                                    const wq_add_options* options, wq_observe_result* result,
                                    wq_error* error);

// --- Lists ---
//
// The calls of a list are made one after the other. They return WQ_INVALID_ARGUMENT also in a
// callback; if the source is no list; if the list has ended, a later one has superseded it, or its
// source was removed.

typedef struct wq_list_options {
  size_t size;
  const char* scope;  // What the list covers.
  size_t scope_size;
  const char* fingerprint;  // What the caller's code is; a new one asks for a full pass.
  size_t fingerprint_size;
} wq_list_options;
// Begins a list of all objects, a source whose observations are those of the list. It supersedes
// the one before. `options` may be NULL.
WQ_EXPORT wq_code wq_source_begin_list(wq_source source, const wq_list_options* options,
                                       wq_source* list, wq_error* error);
// The next object of the list's scope that was neither listed nor observed since the list began.
// *row is a key list of the object, its version, its tombstone, and its keys. WQ_NOT_FOUND: there
// is no other. Blocks: for reading rows.
WQ_EXPORT wq_code wq_source_next_deleted(wq_source list, wq_bytes* row, wq_error* error);
// Ends the list: adds the keys of the objects that are gone, and erases their rows. After an error
// the list goes on, and the call may be repeated. Blocks: for reading rows.
WQ_EXPORT wq_code wq_source_end_list(wq_source list, const wq_add_options* options,
                                     wq_error* error);

// --- Contents ---

typedef struct wq_source_info {
  const char* name;
  size_t objects;
  uint64_t unchanged;  // Observations since the queue was opened,
  uint64_t changed;    // filtered ones too,
  uint64_t deleted;    // and deletions.
} wq_source_info;
typedef int32_t (*wq_visit_source)(void* arg, const wq_source_info* source);
// Visits the sources by name; see "Contents" in wq/c/queue.h.
WQ_EXPORT wq_code wq_queue_sources(wq_queue queue, wq_visit_source visit, void* arg,
                                   wq_error* error);

#ifdef __cplusplus
}
#endif
