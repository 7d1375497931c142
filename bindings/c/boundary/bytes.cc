#include "bindings/c/boundary/bytes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "bindings/c/boundary/arguments.h"

namespace wq::c {

Status CheckOutput(const char* what, const wq_bytes* bytes) {
  if (bytes == nullptr) {
    return NullArgument(what);
  }
  if (bytes->data == nullptr ? bytes->size != 0 || bytes->capacity != 0
                             : bytes->size >= bytes->capacity) {
    return Status::InvalidArgument(std::string(what) + " did not begin as WQ_NO_BYTES");
  }
  return {};
}

void Reserve(size_t capacity, wq_bytes* bytes) {
  if (capacity < bytes->capacity) {
    return;
  }
  const size_t wanted = std::max(capacity + 1, bytes->capacity * 2);
  void* const grown = std::realloc(bytes->data, wanted);
  if (grown == nullptr) {
    throw std::bad_alloc();
  }
  bytes->data = static_cast<char*>(grown);
  bytes->capacity = wanted;
}

void Assign(std::string_view value, wq_bytes* bytes) {
  Reserve(value.size(), bytes);
  if (!value.empty()) {
    std::memcpy(bytes->data, value.data(), value.size());
  }
  bytes->data[value.size()] = '\0';
  bytes->size = value.size();
}

void AppendKey(std::string_view key, wq_bytes* list) {
  Reserve(list->size + kKeyHeader + key.size(), list);
  char* at = list->data + list->size;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    *at++ = static_cast<char>(key.size() >> shift & 0xff);
  }
  if (!key.empty()) {
    std::memcpy(at, key.data(), key.size());
  }
  list->size += kKeyHeader + key.size();
  list->data[list->size] = '\0';
}

Status AssignChecked(const char* what, std::string_view value, wq_bytes* bytes) {
  if (Status s = CheckOutput(what, bytes); !s.ok()) {
    return s;
  }
  Assign(value, bytes);
  return {};
}

Status AssignKeys(const char* what, const std::vector<std::string>& keys, wq_bytes* list) {
  if (Status s = CheckOutput(what, list); !s.ok()) {
    return s;
  }
  size_t size = 0;
  for (const std::string& key : keys) {
    size += kKeyHeader + key.size();
  }
  Reserve(size, list);
  Assign({}, list);
  for (const std::string& key : keys) {
    AppendKey(key, list);
  }
  return {};
}

Status NextKey(std::string_view* list, std::string_view* key) {
  if (list->size() < kKeyHeader) {
    return Status::InvalidArgument("a key list ends within a size");
  }
  size_t size = 0;
  for (unsigned i = 0; i < kKeyHeader; ++i) {
    size |= static_cast<size_t>(static_cast<unsigned char>((*list)[i])) << (8 * i);
  }
  list->remove_prefix(kKeyHeader);
  if (size > list->size()) {
    return Status::InvalidArgument("a key list ends within a key of " + std::to_string(size) +
                                   " bytes");
  }
  *key = list->substr(0, size);
  list->remove_prefix(size);
  return {};
}

Status ReadKeys(const char* what, const char* list, size_t size,
                std::vector<std::string_view>* keys) {
  if (Status s = CheckInput(what, list, size); !s.ok()) {
    return s;
  }
  std::string_view rest(list, size);
  while (!rest.empty()) {
    if (Status s = NextKey(&rest, &keys->emplace_back()); !s.ok()) {
      return Status::InvalidArgument(std::string(what) + ": " + s.message());
    }
  }
  return {};
}

}  // namespace wq::c
