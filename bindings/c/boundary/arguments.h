// Arguments of the C interface: checks of pointers and of structs that begin with their size;
// results that are written to the caller's pointers. Inline, so that a library beside libwq has
// them too (bindings/c/etcd).
// Threading: thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "wq/status.h"

namespace wq::c {

inline Status NullArgument(const char* what) {
  return Status::InvalidArgument(std::string(what) + " is NULL");
}
template <typename T>
Status NotNull(const char* what, T* pointer) {
  return pointer == nullptr ? NullArgument(what) : Status::Ok();
}

// Checks where a handle is written, and writes that there is none.
template <typename Handle>
Status NoneYet(const char* what, Handle* handle) {
  if (handle != nullptr) {
    *handle = {};
  }
  return NotNull(what, handle);
}

// Of the results of checks, which are all made in their order, the first that is not Ok.
inline Status FirstError(std::initializer_list<Status> checks) {
  for (const Status& check : checks) {
    if (!check.ok()) {
      return check;
    }
  }
  return {};
}

// Bytes that the caller passes; NULL is valid for 0 bytes.
inline Status CheckInput(const char* what, const char* data, size_t size) {
  return data == nullptr && size > 0 ? NullArgument(what) : Status::Ok();
}

inline Status CheckSize(const char* what, size_t size) {
  constexpr size_t kLargestStruct = 4096;  // Larger than any version of a struct will be.
  if (size < 2 * sizeof(size_t) || size > kLargestStruct) {
    return Status::InvalidArgument(std::string(what) + ".size is " + std::to_string(size) +
                                   ", not the struct's size");
  }
  return {};
}

// Copies a struct that begins with its size; its bytes beyond the fields that this library knows
// must be 0: otherwise NotSupported, and the known fields are copied. NULL is a struct of zeros.
inline Status ReadSized(const char* what, const void* in, size_t known, void* out) {
  size_t size = 0;
  std::memcpy(&size, in, sizeof size);
  if (Status s = CheckSize(what, size); !s.ok()) {
    return s;
  }
  std::memcpy(out, in, std::min(size, known));
  const char* const bytes = static_cast<const char*>(in);
  if (size > known &&
      std::any_of(bytes + known, bytes + size, [](char byte) { return byte != 0; })) {
    return Status::NotSupported(std::string(what) + " has an option of a later version");
  }
  return {};
}
template <typename T>
Status ReadSized(const char* what, const T* in, T* out) {
  static_assert(std::is_trivially_copyable_v<T>);
  *out = {};
  return in == nullptr ? Status::Ok() : ReadSized(what, in, sizeof *out, static_cast<void*>(out));
}

// InvalidArgument if `out` is NULL or has no size.
template <typename T>
Status CheckSized(const char* what, const T* out) {
  return out == nullptr ? NullArgument(what) : CheckSize(what, out->size);
}
// Writes as much of `value` as the caller's version of the struct has; keeps its `size`.
template <typename T>
void WriteSized(const T& value, T* out) {
  const size_t size = out->size;
  std::memcpy(out, &value, size < sizeof value ? size : sizeof value);
  out->size = size;
}

// Writes the result of a call that only reads: a struct with a size, or a number.
template <typename T, typename Out>
Status Output(const char* what, const T& value, Out* out) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (out == nullptr) {
      return NullArgument(what);
    }
    *out = static_cast<Out>(value);
  } else {
    if (Status s = CheckSized(what, out); !s.ok()) {
      return s;
    }
    WriteSized(value, out);
  }
  return {};
}

}  // namespace wq::c
