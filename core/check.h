// Checks on our own logic: a failure is a fault of ours and aborts with file and line.
// Input from outside is never checked with these: it gets a natsl::Error.
#pragma once

#include <cstdio>
#include <cstdlib>

#define NATSL_CHECK(condition)                                                                    \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      std::fprintf(stderr, "%s:%d: internal check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (false)
