// WQ_EXPORT: what the shared library shows. All else in it is hidden. For C and for C++.
#pragma once

#if defined(__cplusplus) && defined(__GNUC__)
#define WQ_EXPORT [[gnu::visibility("default")]]
#elif defined(__GNUC__)
#define WQ_EXPORT __attribute__((visibility("default")))
#else
#define WQ_EXPORT
#endif
