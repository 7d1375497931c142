// WQ_EXPORT: marks the C interface, which the shared library always exports. docs/api.md says what
// else it exports.
#pragma once

#if defined(__cplusplus) && defined(__GNUC__)
#define WQ_EXPORT [[gnu::visibility("default")]]
#elif defined(__GNUC__)
#define WQ_EXPORT __attribute__((visibility("default")))
#else
#define WQ_EXPORT
#endif
