// Checking a store, and saving what can be read of a damaged one, in C. Begin with wq/wq.h; more in
// wq/verify.h and wq/repair.h.
//
//   wq_verify_report report = {.size = sizeof report};
//   code = wq_verify("pods.wq", 0, &report, print_finding, stderr, &error);
//   if (code == WQ_OK && report.findings > 0) puts("damaged");
//
// Neither changes one byte of the store. Texts are escaped: fit for one line.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Something that is wrong, or lost: the file, queue or family, and what, in words.
typedef void (*wq_visit_finding)(void* arg, const char* where, const char* what);

typedef struct wq_verify_report {
  size_t size;
  uint64_t findings;    // 0: the store is sound.
  int32_t owner_alive;  // 1: what was looked at is a moment's view.
  uint64_t tables;      // How much was looked at.
  uint64_t logs;
  uint64_t queues;
  uint64_t rows;
} wq_verify_report;
// Every check that can be made. `visit`, which may be NULL, is called with at most max_findings of what is
// wrong (0: 1000). WQ_OK if the store was looked at, whatever was found. Blocks: for reading all of it.
WQ_EXPORT wq_code wq_verify(const char* dir, size_t max_findings, wq_verify_report* report,
                            wq_visit_finding visit, void* arg, wq_error* error);

typedef struct wq_repair_report {
  size_t size;
  uint64_t losses;   // 0: the new store holds all that the old one held.
  uint64_t records;  // In the new store.
  uint64_t queues;
} wq_repair_report;
// Saves what can be read of the store `dir` into a new one at `into`; `visit`, which may be NULL, is called
// with what could not be saved. WQ_ALREADY_EXISTS: there is something at `into`. WQ_LOCKED: the store has
// a living owner. Blocks: for reading the one and writing the other.
WQ_EXPORT wq_code wq_repair(const char* dir, const char* into, wq_repair_report* report,
                            wq_visit_finding visit, void* arg, wq_error* error);

#ifdef __cplusplus
}
#endif
