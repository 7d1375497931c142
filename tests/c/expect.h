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

void metrics_and_limiters(void);
void clocks(void);
