// wq in C: a durable, deduplicating work queue of keys that need to be reconciled.
//
//   wq_store_options options = {.size = sizeof options, .create_if_missing = 1};
//   wq_store store = WQ_NO_STORE;
//   wq_queue pods = WQ_NO_QUEUE;
//   wq_bytes key = WQ_NO_BYTES;
//   wq_error error;
//   if (wq_store_open("pods.wq", &options, &store, &error) != WQ_OK ||
//       wq_store_open_queue(store, "pods", NULL, &pods, &error) != WQ_OK ||
//       wq_queue_add(pods, "default/pod-1", 13, NULL, NULL, &error) != WQ_OK) {
//     fprintf(stderr, "%s\n", error.message);
//   }
//   while (wq_queue_get(pods, 0, &key, &error) == WQ_OK) {
//     reconcile(key.data, key.size);
//     wq_queue_done(pods, key.data, key.size, &error);
//   }
//   wq_bytes_free(&key);
//   wq_store_free(store, &error);
//
// The parts: wq/c/base.h (codes, errors, handles, bytes), wq/c/options.h, wq/c/store.h,
// wq/c/queue.h, wq/c/source.h, wq/c/replicated_log.h. wq/c/etcd.h is of a library of its own.
// The calls are those of wq/queue.h, wq/source.h and wq/store.h, which describe them in full.
// What C lacks, the tool wqctl does for programs, too, with -o json: reading a store beside its
// owner, snapshots, loading, checks. This is what differs in C:
//
// Calls. Each returns a code; WQ_OK is 0. The last parameter is a wq_error, or NULL: it is written
// only when the call fails, so success costs nothing. Every argument is checked. No call throws a
// C++ exception. Keys, groups, values and error texts are bytes with their size, and may contain
// NULs; names and paths are C strings.
//
// Handles are numbers in a struct, not addresses: the use of a freed handle returns WQ_BAD_HANDLE
// and does not crash. 0 is no handle.
//
// Structs with a `size` grow in later versions. The caller sets it to sizeof, so that old programs
// work with new libraries. In options a 0 is always the default: `= {sizeof options}` is all
// defaults.
//
// Callbacks are called by any thread, without a lock that the caller could need. They must not
// throw, longjmp, or close or free a store (WQ_INVALID_ARGUMENT). None is called after
// wq_store_free has returned. Their arguments are valid during the call.
//
// Threading: every call may be made by any thread at any time, also while another thread frees the
// store: the call then returns WQ_SHUTTING_DOWN or WQ_BAD_HANDLE.
// Fork: in a forked child of a process that has opened a store every call returns WQ_FORKED. fork
// and exec is allowed; if the exec fails, the child may call _exit or exit. exit there flushes
// stdio and ends the process, without the functions of atexit and without destructors.
// Crash: see wq/queue.h. The end of a program without wq_store_free is the same as a kill: nothing
// that was acknowledged is lost.
#pragma once

// IWYU pragma: begin_exports
#include "wq/c/base.h"
#include "wq/c/options.h"
#include "wq/c/queue.h"
#include "wq/c/replicated_log.h"
#include "wq/c/source.h"
#include "wq/c/store.h"
// IWYU pragma: end_exports
