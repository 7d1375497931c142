// The ground of the C interface: codes, errors, handles, bytes. Begin with wq/wq.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wq/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// What came of a call. The numbers are those of wq/status.h and never change meaning.
typedef int32_t wq_code;
enum {
  WQ_OK = 0,
  WQ_INVALID_ARGUMENT = 1,  // Can never work: an empty key, NULL, an option out of range.
  WQ_NOT_FOUND = 2,         // The store, queue, key, cursor does not exist.
  WQ_ALREADY_EXISTS = 3,    // Creating what is there; opening a queue twice.
  WQ_NOT_PROCESSING = 4,    // Done of a key that no worker holds.
  WQ_SHUTTING_DOWN = 5,     // The queue or store is shutting down or closed. Nothing changed.
  WQ_TIMED_OUT = 6,         // Nothing changed.
  WQ_LOCKED = 7,            // Another process owns the store.
  WQ_CORRUPTION = 8,        // The store's bytes are damaged.
  WQ_NOT_DURABLE = 9,       // Applied in memory, but a write failed. See wq_store_health.
  WQ_IO_ERROR = 10,         // The operating system refused something. Nothing was applied.
  WQ_NOT_SUPPORTED = 11,    // Another format version; an option of a later library.
  // Of this interface alone:
  WQ_BAD_HANDLE = 64,  // None, freed, or of another kind.
  WQ_FORKED = 65,      // This process is a fork of the one that uses the library.
  WQ_NO_MEMORY = 66,   // What the call had done by then is unknown.
  WQ_INTERNAL = 67     // A bug, or a callback that threw. What the call had done is unknown.
};

// "InvalidArgument", "Ok", ...; "?" for a number that is no code. Lives for ever.
WQ_EXPORT const char* wq_code_name(wq_code code);

// Why a call failed. Written only then. The caller's own: nothing is to be freed.
typedef struct wq_error {
  wq_code code;
  char message[508];  // UTF-8, ends with a NUL; keys in it are escaped. Longer ones are cut.
} wq_error;

// Handles. Copies are the same handle. `{0}` is none.
typedef struct wq_store {
  uint64_t handle;
} wq_store;
typedef struct wq_queue {
  uint64_t handle;
} wq_queue;
typedef struct wq_worker {
  uint64_t handle;
} wq_worker;
typedef struct wq_view {
  uint64_t handle;
} wq_view;

#define WQ_NO_STORE \
  { 0 }
#define WQ_NO_QUEUE \
  { 0 }
#define WQ_NO_WORKER \
  { 0 }
#define WQ_NO_VIEW \
  { 0 }

// Bytes that the library hands out. Begin with WQ_NO_BYTES, use it for as many calls as you like (its
// memory is used again), end with wq_bytes_free. One call at a time.
typedef struct wq_bytes {
  char* data;       // `size` bytes, and then a NUL. NULL while nothing was ever handed out.
  size_t size;      // After a call that failed: as before.
  size_t capacity;  // The library's business.
} wq_bytes;

#define WQ_NO_BYTES \
  { NULL, 0, 0 }

// Gives the memory back and makes it WQ_NO_BYTES again. NULL is ignored.
WQ_EXPORT void wq_bytes_free(wq_bytes* bytes);

// --- Many keys in one buffer: key lists ---
//
// A key list is its keys one after the other, each behind its size as 4 bytes, little-endian. It needs
// no alignment. Calls that hand out many keys make one; calls that take many take it as it is.

// Appends a key to a list. WQ_INVALID_ARGUMENT: 4 GiB or more.
WQ_EXPORT wq_code wq_keys_append(wq_bytes* list, const char* key, size_t size, wq_error* error);
// The key at *offset, which is 0 at first and is moved behind it. WQ_NOT_FOUND at the end;
// WQ_INVALID_ARGUMENT where the bytes are no list.
WQ_EXPORT wq_code wq_keys_next(const char* list, size_t list_size, size_t* offset, const char** key,
                               size_t* size, wq_error* error);

// Of queues and of views.
typedef int32_t (*wq_visit_cursor)(void* arg, const char* name, const char* value,
                                   size_t value_size);

// --- Texts ---

// The library's version, which may be later than the header's: "0.1.0".
WQ_EXPORT const char* wq_version(void);

// `bytes` made safe for one line of a terminal or a log. See wq/keys.h. 0 for max_bytes is 256.
WQ_EXPORT wq_code wq_escape_key(const char* bytes, size_t size, size_t max_bytes, wq_bytes* text,
                                wq_error* error);

#ifdef __cplusplus
}
#endif
