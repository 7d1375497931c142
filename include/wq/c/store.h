// Stores, in C: a directory with named queues, owned by one process. Begin with wq/wq.h; wq/store.h
// describes the calls.
#pragma once

#include "wq/c/base.h"
#include "wq/c/options.h"

#ifdef __cplusplus
extern "C" {
#endif

// Opens the store in `dir` and becomes its owner. NULL options are all defaults. WQ_NOT_FOUND,
// WQ_ALREADY_EXISTS, WQ_LOCKED (the message names the owner's pid), WQ_CORRUPTION (the message
// names the file), WQ_NOT_SUPPORTED, WQ_IO_ERROR or WQ_NO_MEMORY (no memory or no thread). Later, a
// change that finds no memory ends the process: see wq/store.h. Blocks: for recovery.
WQ_EXPORT wq_code wq_store_open(const char* dir, const wq_store_options* options, wq_store* store,
                                wq_error* error);
// A store without a directory. Its contents end with the process.
WQ_EXPORT wq_code wq_store_open_in_memory(const wq_store_options* options, wq_store* store,
                                          wq_error* error);

// Stops every queue (blocked calls return), makes everything durable and closes the files. The
// handles stay valid; their calls return WQ_SHUTTING_DOWN. A second call returns the same code.
// Blocks: for one flush.
WQ_EXPORT wq_code wq_store_close(wq_store store, wq_error* error);
// wq_store_close, then frees the handles of the store, its queues, workers and sources, also if the
// close fails. Returns the code of the close. Blocks: until calls that are under way have returned.
WQ_EXPORT wq_code wq_store_free(wq_store store, wq_error* error);

// Opens the queue of this name, 1 to 64 of [A-Za-z0-9._-]. Its handle lives as long as the store's.
// WQ_ALREADY_EXISTS: it is open. Blocks: for reading its records.
WQ_EXPORT wq_code wq_store_open_queue(wq_store store, const char* name,
                                      const wq_queue_options* options, wq_queue* queue,
                                      wq_error* error);

// Stops the queue (blocked calls return) and writes its changes, so that this store can open it
// again. Keys that workers hold are handed out again after that. The handle stays valid; its
// changing calls return WQ_SHUTTING_DOWN. A queue of a store in memory loses its keys. Idempotent.
// WQ_NOT_DURABLE: a write has failed; the queue is stopped, and not closed.
// WQ_INVALID_ARGUMENT: called in a callback. Blocks: for one sync.
WQ_EXPORT wq_code wq_queue_close(wq_queue queue, wq_error* error);

// Deletes the queue of this name with all that it has; a crash leaves the whole queue or none of
// it. WQ_NOT_FOUND; WQ_LOCKED: it is open (wq_queue_close). Blocks: for reading its records, and
// for writes.
WQ_EXPORT wq_code wq_store_delete_queue(wq_store store, const char* name, wq_error* error);

// Makes all changes of all queues before this call as durable as asked for. Blocks.
WQ_EXPORT wq_code wq_store_flush(wq_store store, int32_t durability, wq_error* error);

// WQ_OK, or WQ_NOT_DURABLE from a failed write until the store has recovered; the message says what
// failed, and when the next attempt is due.
WQ_EXPORT wq_code wq_store_health(wq_store store, wq_error* error);
// WQ_OK: the store has a process log, so that calls at WQ_PROCESS do not wait for a write. The
// store works without it, too; then the message says why it has none. WQ_NOT_FOUND: no_process_log
// was set, or the store is in memory. WQ_NOT_SUPPORTED: a process log is not safe on this file
// system. WQ_IO_ERROR: for example, the disk had no space for it.
WQ_EXPORT wq_code wq_store_process_log_status(wq_store store, wq_error* error);
// Tries at once to make a failed store durable again. WQ_OK: it is healthy. Blocks: for one
// attempt.
WQ_EXPORT wq_code wq_store_recover(wq_store store, wq_error* error);

// The time of the caller's clock has jumped: threads that wait for an instant read the clock again.
// WQ_INVALID_ARGUMENT: the store was opened without wq_store_options.clock.
WQ_EXPORT wq_code wq_store_clock_changed(wq_store store, wq_error* error);

// The names of all queues, open or not, sorted, as a key list.
WQ_EXPORT wq_code wq_store_queue_names(wq_store store, wq_bytes* names, wq_error* error);
WQ_EXPORT wq_code wq_store_uuid(wq_store store, wq_bytes* uuid, wq_error* error);
// Empty for a store in memory.
WQ_EXPORT wq_code wq_store_dir(wq_store store, wq_bytes* dir, wq_error* error);

// --- Replication ---
//
// Of a store that was opened with wq_store_options.replication; docs/replication.md. Calls that
// need the ownership (opening and deleting queues, all calls of a queue) return WQ_NOT_OWNER
// without it. When it ends, the open queues are closed for good: their handles stay valid, and
// their calls return WQ_NOT_OWNER. After the next wq_store_wait_for_leadership they are opened
// again.

// *owner: 1 if this process owns the store now. A store that is not replicated: always.
WQ_EXPORT wq_code wq_store_is_owner(wq_store store, int32_t* owner, wq_error* error);
// The epoch of the present ownership, which grows from one to the next: what a reconciler writes to
// can refuse the writes of former owners by it. 0: this process does not own the store. A store
// that is not replicated: 1.
WQ_EXPORT wq_code wq_store_epoch(wq_store store, uint64_t* epoch, wq_error* error);
// Waits until this process owns the store. A negative timeout: without a limit. WQ_TIMED_OUT;
// WQ_SHUTTING_DOWN after wq_store_close.
WQ_EXPORT wq_code wq_store_wait_for_leadership(wq_store store, int64_t timeout_us, wq_error* error);
// Hands the ownership over to another replica, and goes on as a replica. WQ_NOT_OWNER: it did not
// own the store. WQ_NOT_DURABLE: the last changes could not be written to the log; the ownership
// has ended. WQ_INVALID_ARGUMENT: the store is not replicated, or called in a callback. Blocks: for
// some requests to the log.
WQ_EXPORT wq_code wq_store_resign(wq_store store, wq_error* error);

// What a replica knows of itself, at one instant.
typedef struct wq_replica_state {
  size_t size;
  int32_t owner;          // 1: it owns the store.
  uint64_t epoch;         // Of its ownership; 0: none.
  uint64_t applied;       // The last entry of the log that its store has.
  int64_t applied_at_us;  // Wall time at which it last had all of the log; 0: never.
  char owner_name[72];    // Ends with a NUL. "": nobody is, or it is not known.
  // WQ_OK, or why the log cannot be reached or followed, or why the last ownership could not begin.
  wq_error log;
} wq_replica_state;
// *state: `size` is set by the caller. A store that is not replicated: the state of an owner.
WQ_EXPORT wq_code wq_store_replica(wq_store store, wq_replica_state* state, wq_error* error);

// All metrics of the store and its queues, in the text format that a Prometheus server reads
// (version 0.0.4); docs/metrics.md lists them. After wq_store_close without the gauges.
// WQ_INVALID_ARGUMENT: the store was opened without wq_store_options.metrics.
WQ_EXPORT wq_code wq_store_metrics(wq_store store, wq_bytes* text, wq_error* error);

#ifdef __cplusplus
}
#endif
