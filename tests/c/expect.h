// EXPECT, OK: checks in C programs. A failure ends the program with the line.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "wq/wq.h"

extern wq_error error;  // Of the last call that failed.

#define EXPECT(condition)                                                                      \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              error.message);                                                                  \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)
#define OK(call) EXPECT((call) == WQ_OK)

// Visitors that append their arguments to a text of the caller, separated by spaces.
void note(char* text, const char* bytes, size_t size);
int32_t note_cursor(void* text, const char* name, const char* value, size_t value_size);
int32_t note_lane(void* text, int32_t lane, size_t queued);

void views(const char* dir);  // The store of main.
void metrics_and_limiters(void);
void controllers(wq_store store);
void clocks(void);
void pieces(void);
void whole_stores(
    const char* dir);  // `dir`: a store with keys and no owner; files may be created beside it.
