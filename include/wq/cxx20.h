// Every C++ header of wq includes this header, some by another one: with a standard before C++20
// the first error of the compiler names the standard that wq needs, and not a missing std::span.
#pragma once

#if defined(__cplusplus) && __cplusplus <= 201703L
#error "wq needs C++20 (-std=c++20). With older standards use its C interface, wq/wq.h."
#endif
