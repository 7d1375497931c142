// The basics of the C interface: codes, errors, handles, bytes. Begin with wq/wq.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wq/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// The result of a call. The numbers are those of wq/status.h and never change meaning.
typedef int32_t wq_code;
enum {
  WQ_OK = 0,
  WQ_INVALID_ARGUMENT = 1,  // Can never work: an empty key, NULL, an option out of range.
  WQ_NOT_FOUND = 2,         // The store, queue, key, cursor does not exist.
  WQ_ALREADY_EXISTS = 3,    // Creating what exists; opening a queue twice.
  WQ_NOT_PROCESSING = 4,    // Done of a key that is not processing.
  WQ_SHUTTING_DOWN = 5,     // The queue or store is shutting down or closed. Nothing changed.
  WQ_TIMED_OUT = 6,         // Nothing changed.
  WQ_LOCKED = 7,            // Another process owns the store.
  WQ_CORRUPTION = 8,        // The store's bytes are damaged.
  WQ_NOT_DURABLE = 9,       // Applied in memory, but a write failed. See wq_store_health.
  WQ_IO_ERROR = 10,         // The operating system refused something. Nothing was applied.
  WQ_NOT_SUPPORTED = 11,    // Another format version; an option of a later library.
  WQ_NOT_OWNER = 12,        // A replicated store: this process does not own it, or not any more.
  WQ_FULL = 13,             // The queue has max_pending keys. Nothing changed.
  WQ_UNAUTHENTICATED = 14,  // Of a server's answers, which no call here returns: a wrong token.
  // Only in the C interface:
  WQ_BAD_HANDLE = 64,  // No handle, a freed one, or one of another kind.
  WQ_FORKED = 65,      // This process is a forked child of one that has opened a store.
  WQ_NO_MEMORY = 66,   // Whether the call took effect is unknown.
  WQ_INTERNAL = 67     // A bug, or a callback that threw. Whether the call took effect is unknown.
};

// "InvalidArgument", "Ok", ...; "?" for a number that is no code. Never freed.
WQ_EXPORT const char* wq_code_name(wq_code code);

// Why a call failed. Written only by a call that fails. It owns no memory: there is nothing to
// free.
typedef struct wq_error {
  wq_code code;
  char message[508];  // UTF-8, ends with a NUL; keys in it are escaped. Longer messages are cut.
} wq_error;

// Handles. Copies are the same handle. `{0}` is no handle.
typedef struct wq_store {
  uint64_t handle;
} wq_store;
typedef struct wq_queue {
  uint64_t handle;
} wq_queue;
typedef struct wq_worker {
  uint64_t handle;
} wq_worker;
typedef struct wq_source {
  uint64_t handle;
} wq_source;

#define WQ_NO_STORE \
  { 0 }
#define WQ_NO_QUEUE \
  { 0 }
#define WQ_NO_WORKER \
  { 0 }
#define WQ_NO_SOURCE \
  { 0 }

// Bytes that a call returns. Begin with WQ_NO_BYTES, use it for any number of calls (its memory is
// reused), end with wq_bytes_free. One call at a time.
typedef struct wq_bytes {
  char* data;       // `size` bytes, and then a NUL. NULL until a call has returned bytes.
  size_t size;      // Unchanged by a call that fails.
  size_t capacity;  // Used by the library only.
} wq_bytes;

#define WQ_NO_BYTES \
  { NULL, 0, 0 }

// Frees the memory and sets *bytes to WQ_NO_BYTES. NULL is ignored.
WQ_EXPORT void wq_bytes_free(wq_bytes* bytes);

// --- Many keys in one buffer: key lists ---
//
// A key list is a sequence of keys, each preceded by its size as 4 bytes, little-endian, without
// alignment. Calls that return or take many keys use this format.

// Appends a key to a list. WQ_INVALID_ARGUMENT: 4 GiB or more.
WQ_EXPORT wq_code wq_keys_append(wq_bytes* list, const char* key, size_t size, wq_error* error);
// The key at *offset. Begin with 0; the call moves *offset behind the key. *key points into the
// list. WQ_NOT_FOUND: the end of the list. WQ_INVALID_ARGUMENT: the bytes are no key list.
WQ_EXPORT wq_code wq_keys_next(const char* list, size_t list_size, size_t* offset, const char** key,
                               size_t* size, wq_error* error);

// Visits a cursor of a queue; returns 0 to stop.
typedef int32_t (*wq_visit_cursor)(void* arg, const char* name, const char* value,
                                   size_t value_size);

// --- The version of the library, which may be later than that of the header: "0.1.0" ---

WQ_EXPORT const char* wq_version(void);

#ifdef __cplusplus
}
#endif
