// Checking a store, and salvaging the readable part of a damaged one, in C. Begin with wq/wq.h;
// details are in wq/verify.h and wq/repair.h.
//
//   wq_verify_report report = {.size = sizeof report};
//   code = wq_verify("pods.wq", 0, &report, print_finding, stderr, &error);
//   if (code == WQ_OK && report.findings > 0) puts("damaged");
//
// Neither call changes the store. Texts are escaped for one line of output.
#pragma once

#include "wq/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// A finding or a loss: the file, queue or column family, and a description.
typedef void (*wq_visit_finding)(void* arg, const char* where, const char* what);

typedef struct wq_verify_report {
  size_t size;
  uint64_t findings;    // 0: the store is sound.
  int32_t owner_alive;  // 1: the store was in use; the report is of one instant.
  uint64_t tables;      // The number of checked tables, logs, queues and rows.
  uint64_t logs;
  uint64_t queues;
  uint64_t rows;
} wq_verify_report;
// Makes every check. `visit` (may be NULL) is called with at most max_findings findings (0: 1000).
// WQ_OK: the store was checked, with or without findings. Blocks: for reading the whole store.
WQ_EXPORT wq_code wq_verify(const char* dir, size_t max_findings, wq_verify_report* report,
                            wq_visit_finding visit, void* arg, wq_error* error);

typedef struct wq_repair_report {
  size_t size;
  uint64_t losses;   // 0: the new store holds everything that the old one held.
  uint64_t records;  // In the new store.
  uint64_t queues;
} wq_repair_report;
// Copies the readable part of the store `dir` into a new store at `into`; `visit` (may be NULL) is
// called with each loss. WQ_ALREADY_EXISTS: `into` exists. WQ_LOCKED: a process owns the store.
// Blocks: for reading and writing both stores.
WQ_EXPORT wq_code wq_repair(const char* dir, const char* into, wq_repair_report* report,
                            wq_visit_finding visit, void* arg, wq_error* error);

#ifdef __cplusplus
}
#endif
