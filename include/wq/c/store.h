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
// names the file), WQ_NOT_SUPPORTED. Blocks: for recovery.
WQ_EXPORT wq_code wq_store_open(const char* dir, const wq_store_options* options, wq_store* store,
                                wq_error* error);
// A store without a directory. Its contents end with the process.
WQ_EXPORT wq_code wq_store_open_in_memory(const wq_store_options* options, wq_store* store,
                                          wq_error* error);

// Stops every queue (blocked calls return), makes everything durable and closes the files. The
// handles stay valid; their calls return WQ_SHUTTING_DOWN. A second call returns the same code.
// Blocks: for one flush.
WQ_EXPORT wq_code wq_store_close(wq_store store, wq_error* error);
// wq_store_close, then frees the handles of the store, its queues, workers and controllers, also if
// the close fails. Returns the code of the close. Blocks: until calls that are under way have
// returned.
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

// The open queue of this name. WQ_NOT_FOUND: it is not open.
WQ_EXPORT wq_code wq_store_find_queue(wq_store store, const char* name, wq_queue* queue,
                                      wq_error* error);

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
// The former name of wq_store_recover: WQ_0.1 keeps every symbol.
WQ_EXPORT wq_code wq_store_mend(wq_store store, wq_error* error);

// The time of the caller's clock has jumped: threads that wait for an instant read the clock again.
// WQ_INVALID_ARGUMENT: the store was opened without wq_store_options.clock.
WQ_EXPORT wq_code wq_store_clock_changed(wq_store store, wq_error* error);

// The names of all queues, open or not, sorted, as a key list.
WQ_EXPORT wq_code wq_store_queue_names(wq_store store, wq_bytes* names, wq_error* error);
WQ_EXPORT wq_code wq_store_uuid(wq_store store, wq_bytes* uuid, wq_error* error);
// Empty for a store in memory.
WQ_EXPORT wq_code wq_store_dir(wq_store store, wq_bytes* dir, wq_error* error);

// Calls `visit` with the present value of every gauge of the store and its open queues.
// WQ_INVALID_ARGUMENT: the store was opened without wq_store_options.metrics.
typedef void (*wq_visit_gauge)(void* arg, const wq_metric* metric, const wq_label* labels,
                               size_t label_count, double value);
WQ_EXPORT wq_code wq_store_read_gauges(wq_store store, wq_visit_gauge visit, void* arg,
                                       wq_error* error);

#ifdef __cplusplus
}
#endif
