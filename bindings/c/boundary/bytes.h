// wq_bytes and key lists: written to the caller's buffers, and read from them. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wq/c/base.h"
#include "wq/status.h"

namespace wq::c {

// InvalidArgument: NULL, or not begun as WQ_NO_BYTES.
Status CheckOutput(const char* what, const wq_bytes* bytes);

// These throw std::bad_alloc. REQUIRES: CheckOutput.
void Reserve(size_t capacity, wq_bytes* bytes);  // For `capacity` bytes and a NUL.
void Assign(std::string_view value, wq_bytes* bytes);
void AppendKey(std::string_view key, wq_bytes* list);  // To a key list.

// These check the argument, too.
Status AssignChecked(const char* what, std::string_view value, wq_bytes* bytes);
Status AssignKeys(const char* what, const std::vector<std::string>& keys, wq_bytes* list);

inline constexpr size_t kKeyHeader = 4;  // The size in front of a key of a list.

// Removes the first key from `list`. REQUIRES: the list is not empty. InvalidArgument: it is
// malformed.
Status NextKey(std::string_view* list, std::string_view* key);
// All keys of a list, checked. They borrow its bytes.
Status ReadKeys(const char* what, const char* list, size_t size,
                std::vector<std::string_view>* keys);

}  // namespace wq::c
