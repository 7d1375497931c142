// WQ_EXPORT: marks the C interface, which the shared library always shows; see docs/api.md for the rest.
#pragma once

#if defined(__cplusplus) && defined(__GNUC__)
#define WQ_EXPORT [[gnu::visibility("default")]]
#elif defined(__GNUC__)
#define WQ_EXPORT __attribute__((visibility("default")))
#else
#define WQ_EXPORT
#endif
